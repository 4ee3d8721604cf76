/** `proxwright validate`: the file alone, all problems at once. */
import { counted } from '../../base/count.ts';
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
  if (stack) terminal.success(`${file} is valid: stack ${stack.name} with ${counted(stack.vms.length, 'VM')}.`);
  else terminal.log('error', `${file} has ${counted(errors, 'problem')}.`);
  return stack ? 0 : 1;
}
