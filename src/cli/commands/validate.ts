/** `proxwright validate`: the file alone, all problems at once. */
import type { CommandHost, ExitCode } from '../command-host.ts';
import { readStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';

export async function runValidate(options: StackOptions, host: CommandHost): Promise<ExitCode> {
  const { file, stack, diagnostics } = await readStack(options, host);
  const { terminal } = host;
  if (host.json) {
    const vms = stack?.vms.map(({ address, fields }) => ({ address, name: fields.name })) ?? [];
    terminal.result(JSON.stringify({ file, valid: stack !== undefined, vms, diagnostics }));
    return stack ? 0 : 1;
  }
  for (const diagnostic of diagnostics) terminal.diagnostic(diagnostic);
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
  if (stack) terminal.success(`${file} is valid: stack ${stack.name} with ${count(stack.vms.length, 'VM')}.`);
  else terminal.log('error', `${file} has ${count(errors, 'problem')}.`);
  return stack ? 0 : 1;
}

const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;
