/** `proxwright image ensure` and `proxwright template ensure`: an apply of these alone, with whatever they are made from. */
import { closest } from '../../base/closest.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { ResolvedStack } from '../../spec/index.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { openStack } from '../stack-host.ts';
import { type ApplyOptions, runApply } from './apply.ts';

export type EnsureOptions = Omit<ApplyOptions, 'only' | 'verify' | 'typed'>;

export async function runEnsure(
  kind: 'image' | 'template',
  names: readonly string[],
  options: EnsureOptions,
  host: CommandHost,
): Promise<ExitCode> {
  const { stack } = await openStack(options, host);
  const known = knownNames(kind, stack);
  if (known.length === 0) {
    host.terminal.success(`Nothing to do: the stack ${stack.name} declares no ${kind}.`);
    return 0;
  }
  for (const name of names) if (!known.includes(name)) throw unknownName(kind, name, known);
  const chosen = names.length > 0 ? names : known;
  const typed = [kind, 'ensure', ...names].join(' ');
  return runApply(undefined, { ...options, typed, only: chosen.map((name) => `${kind}.${name}`) }, host);
}

function knownNames(kind: 'image' | 'template', { images, templates }: ResolvedStack): string[] {
  return [...new Set((kind === 'image' ? images : templates).map(({ name }) => name))];
}

function unknownName(kind: string, name: string, known: readonly string[]): ProxwrightError {
  const guess = closest(name, known);
  return new ProxwrightError({
    code: 'MISSING_REFERENCE',
    where: { file: `${kind} ensure ${name}` },
    detail: `The stack declares no ${kind} "${name}"; it declares ${known.join(', ')}.`,
    hint: guess === undefined ? 'Without a name, all of them are meant.' : `Did you mean "${guess}"?`,
  });
}
