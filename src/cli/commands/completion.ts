/**
 * `proxwright completion SHELL`: the script for a shell; and `complete`, which such a script calls at every press of
 * Tab.
 */
import {
  badOption,
  type CommandDeps,
  type CommandRow,
  type ExitCode,
  type GlobalOptions,
  type StackOptions,
} from '../command.ts';
import { candidatesFor, unquoted } from '../completion/candidates.ts';
import { COMPLETION_SCRIPTS, FILES_ANSWER } from '../completion/scripts.ts';
import { SHELLS } from '../options.ts';

export async function runCompletion(shell: string, _options: GlobalOptions, deps: CommandDeps): Promise<ExitCode> {
  const known = SHELLS.find((name) => name === shell);
  if (!known)
    throw badOption(shell, `"${shell}" is not a shell that can be completed.`, `Choose one of ${SHELLS.join(', ')}.`);
  deps.stdout.write(COMPLETION_SCRIPTS[known]);
  return 0;
}

/** Prints nothing instead of a problem: the user is in the middle of a line. */
export async function runComplete(
  commands: readonly CommandRow[],
  words: readonly string[],
  _options: GlobalOptions,
  deps: CommandDeps,
): Promise<ExitCode> {
  const found = candidatesFor(commands, words);
  if (found.kind === 'files') {
    deps.stdout.write(`${FILES_ANSWER}\n`);
    return 0;
  }
  const { before } = found;
  const candidates: readonly { readonly word: string; readonly about?: string }[] =
    found.kind === 'words' ? found.words : (await addressesFor(words, deps)).map((word) => ({ word }));
  const last = unquoted(words.at(-1) ?? '');
  const typed = last === '=' ? '' : last;
  for (const { word, about } of candidates) {
    if (`${before}${word}`.startsWith(typed)) deps.stdout.write(`${before}${word}${about ? `\t${about}` : ''}\n`);
  }
  return 0;
}

/** Groups and members of the stack in this directory, or of the one that the words name; none if it has problems. */
async function addressesFor(words: readonly string[], deps: CommandDeps): Promise<string[]> {
  const { readStack } = await import('../stack/read.ts');
  const after = (...names: string[]) =>
    words.flatMap((word, index) =>
      names.includes(words[index - 1] ?? '') && index < words.length - 1 ? [unquoted(word)] : [],
    );
  const [file] = after('-f', '--file');
  const options: StackOptions = { ...(file && { file }), var: after('--var'), varFile: after('--var-file') };
  try {
    const { stack } = await readStack(options, deps);
    const addresses = [
      ...(stack?.vms ?? []).map(({ address }) => address),
      ...(stack?.templates ?? []).map(({ vm }) => vm.address),
      ...(stack?.images ?? []).map(({ address }) => address),
    ];
    return [...new Set(addresses.flatMap((address) => [address.replace(/\[.*/, ''), address]))];
  } catch {
    return [];
  }
}
