/** `proxwright validate`: the file alone, all problems at once. */
import { counted } from '../../base/count.ts';
import type { ResolvedStack, ResolvedVm } from '../../spec/index.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { readStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';

export async function runValidate(options: StackOptions, host: CommandHost): Promise<ExitCode> {
  const { file, stack, diagnostics } = await readStack(options, host);
  const { terminal } = host;
  if (host.json) {
    const named = ({ address, fields }: ResolvedVm) => ({ address, name: fields.name });
    const vms = stack?.vms.map(named) ?? [];
    const templates = stack?.templates.map(({ vm }) => named(vm)) ?? [];
    const images = stack?.images.map(({ address, file: name }) => ({ address, file: name })) ?? [];
    terminal.result(JSON.stringify({ file, valid: stack !== undefined, vms, templates, images, diagnostics }));
    return stack ? 0 : 1;
  }
  for (const diagnostic of diagnostics) terminal.diagnostic(diagnostic);
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  if (stack) terminal.success(`${file} is valid: stack ${stack.name} with ${contents(stack)}.`);
  else terminal.log('error', `${file} has ${counted(errors, 'problem')}.`);
  return stack ? 0 : 1;
}

/** `2 VMs, 1 template and 1 image`; what a stack has none of is left out, but for the VMs. */
function contents({ vms, templates, images }: ResolvedStack): string {
  const more = [
    ...(templates.length > 0 ? [counted(templates.length, 'template')] : []),
    ...(images.length > 0 ? [counted(images.length, 'image')] : []),
  ];
  const last = more.pop();
  const rest = [counted(vms.length, 'VM'), ...more].join(', ');
  return last === undefined ? rest : `${rest} and ${last}`;
}
