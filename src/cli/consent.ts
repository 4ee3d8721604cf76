/** The user's consent: a question at a terminal, or --yes. */
import { canceled, type ErrorInit, ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { CommandDeps } from './command.ts';

export const isYes = (answer: string | undefined) => /^\s*(y|yes)\s*$/i.test(answer ?? '');

/** Asks unless `--yes` was given. Without a terminal, `--yes` is required. */
export async function requireConsent(
  deps: CommandDeps,
  { yes }: { readonly yes?: boolean },
  command: string,
  question: string,
): Promise<void> {
  if (yes) return;
  if (!deps.canAsk) throw needsYes(command, `If you are sure: proxwright ${command} --yes`);
  if (!isYes(await deps.ask(`${question} [y/N] `))) throw canceled('Nothing was changed.');
}

export function needsYes(
  typed: string,
  hint: ErrorInit['hint'] = advice`Check the plan first: ${command('plan')}. Then: proxwright ${typed} --yes`,
): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: `proxwright ${typed}` },
    detail: 'There is no terminal to ask on, and --yes was not given. Nothing was changed.',
    hint,
  });
}
