/** The user's consent: asked for at a terminal, given beforehand with --yes elsewhere. */
import { canceled, ProxwrightError } from '../base/errors.ts';
import type { CommandHost } from './command-host.ts';

export const isYes = (answer: string | undefined) => /^\s*(y|yes)\s*$/i.test(answer ?? '');

/** Asks unless `--yes` was given; where nobody can be asked, consent has to be given beforehand. */
export async function requireConsent(
  host: CommandHost,
  { yes }: { readonly yes?: boolean },
  command: string,
  question: string,
): Promise<void> {
  if (yes) return;
  if (!host.canAsk) throw needsYes(command, `If you are sure: proxwright ${command} --yes`);
  if (!isYes(await host.ask(`${question} [y/N] `))) throw canceled('Nothing was changed.');
}

export function needsYes(
  command: string,
  hint = `Look at the plan first: proxwright plan. Then: proxwright ${command} --yes`,
): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: `proxwright ${command}` },
    detail: 'There is no terminal to ask on, and --yes was not given; nothing was done.',
    hint,
  });
}
