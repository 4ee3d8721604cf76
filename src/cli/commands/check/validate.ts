/** `proxwright validate`: checks the stack file, without a server, and reports all problems together. */
import type { CommandDeps, ExitCode, StackOptions } from '../../command.ts';
import { readStack } from '../../stack/read.ts';
import { validateView } from '../../views/check/validate.ts';

export async function runValidate(options: StackOptions, deps: CommandDeps): Promise<ExitCode> {
  const result = await readStack(options, deps);
  validateView(deps).validated(result);
  return result.stack ? 0 : 1;
}
