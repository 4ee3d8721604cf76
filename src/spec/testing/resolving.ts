/** Shortcuts for tests: text in, stack or problems out. */
import { formatDiagnostic } from '../../base/diagnostics.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import type { ResolvedVm } from '../../kinds/vm/stack.ts';
import { loadStack } from '../load.ts';
import { type Resolution, resolveStack } from '../resolve.ts';
import type { VariableInputs } from '../variables/values.ts';

export function resolveText(text: string, inputs: VariableInputs = {}): Resolution {
  return resolveStack(loadStack(text, 'stack.yaml'), inputs);
}

/** The stack; a failing test shows the problems. */
export function stackOf(text: string, inputs: VariableInputs = {}): ResolvedStack {
  const { stack, diagnostics } = resolveText(text, inputs);
  if (!stack) throw new Error(diagnostics.map(formatDiagnostic).join('\n'));
  return stack;
}

/** `line:column severity code: detail | advice`, one per problem. */
export function problemsOf(text: string, inputs: VariableInputs = {}): string[] {
  return resolveText(text, inputs).diagnostics.map(
    ({ severity, code, detail, hint, where }) =>
      `${where?.file === 'stack.yaml' ? '' : `${where?.file}:`}${where?.line}:${where?.column} ${severity} ${code}: ${detail}${hint === undefined ? '' : ` | ${hint.text}`}`,
  );
}

/** A valid stack of one cloned VM, `web`, with these lines added to it; the added lines begin at line 8. */
export function webStack(lines: string): string {
  return [
    'version: 1',
    'stack: demo',
    'vms:',
    '  web:',
    '    name: web',
    '    node: pve1',
    '    clone: { template: debian }',
    indent(lines),
  ].join('\n');
}

/** The same without the clone, stopped so that it need not boot; the added lines begin at line 8. */
export function emptyVmStack(lines: string): string {
  return webStack(lines).replace('    clone: { template: debian }', '    power: stopped');
}

export function onlyVm(stack: ResolvedStack): ResolvedVm {
  const [vm] = stack.vms;
  if (!vm || stack.vms.length > 1) throw new Error(`The stack has ${stack.vms.length} VMs.`);
  return vm;
}

function indent(lines: string): string {
  return lines
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}
