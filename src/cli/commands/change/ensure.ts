/** `proxwright image ensure` and `proxwright template ensure`: an apply of these alone, with the images they need. */

import { ProxwrightError } from '../../../base/errors.ts';
import { closest } from '../../../base/text/closest.ts';
import type { ResolvedStack } from '../../../spec/index.ts';
import type { CommandDeps, ExitCode } from '../../command.ts';
import { openStack } from '../../stack/open.ts';
import { runApply } from './apply.ts';
import type { ApplyOptions } from './apply-steps.ts';

export type EnsureOptions = Omit<ApplyOptions, 'only' | 'verify' | 'typed'>;

export async function runEnsure(
  kind: 'image' | 'template',
  names: readonly string[],
  options: EnsureOptions,
  deps: CommandDeps,
): Promise<ExitCode> {
  const { stack } = await openStack(options, deps);
  const known = knownNames(kind, stack);
  if (known.length === 0 && names.length === 0) {
    deps.terminal.success(`Nothing to do: the stack ${stack.name} declares no ${kind}.`);
    return 0;
  }
  for (const name of names) if (!known.includes(name)) throw unknownName(kind, name, known);
  const chosen = names.length > 0 ? names : known;
  const typed = [kind, 'ensure', ...names].join(' ');
  return runApply(undefined, { ...options, typed, only: chosen.map((name) => `${kind}.${name}`) }, deps);
}

function knownNames(kind: 'image' | 'template', { images, templates }: ResolvedStack): string[] {
  return [...new Set((kind === 'image' ? images : templates).map(({ name }) => name))];
}

function unknownName(kind: string, name: string, known: readonly string[]): ProxwrightError {
  const guess = closest(name, known);
  return new ProxwrightError({
    code: 'MISSING_REFERENCE',
    where: { file: `${kind} ensure ${name}` },
    detail: `The stack declares no ${kind} "${name}"${known.length === 0 ? ', and no other' : `; it declares ${known.join(', ')}`}.`,
    hint: guess === undefined ? `To ensure every ${kind}, give no name.` : `Did you mean "${guess}"?`,
  });
}
