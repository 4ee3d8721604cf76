/** What the README of an example shows: commands of ours, and what they print. */

export function codeBlocks(text: string, kind: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code = '']) => code);
}

/** The words of each `proxwright …` in the blocks for a shell; where its output goes is left out. */
export function commandsIn(text: string): string[][] {
  return codeBlocks(text, 'sh')
    .flatMap((code) => code.split(/\n|&&/))
    .flatMap((line) => /^\s*proxwright (.+?)(?:\s+[|>#].*)?\s*$/.exec(line)?.[1] ?? [])
    .map((words) => [...words.matchAll(/'([^']*)'|\S+/g)].map(([word, quoted]) => quoted ?? word));
}

/** Lines that are shown as printed, in the order in which they stand there. */
export function shownLines(text: string): string[] {
  return codeBlocks(text, 'text').flatMap((code) => code.split('\n').filter((line) => line !== ''));
}

/** `name=value` and `FILE` of the options with which a README runs its commands. */
export function optionsIn(text: string): { readonly varFile: string[] } {
  const words = commandsIn(text).flat();
  const files = words.flatMap((word, index) => (word === '--var-file' ? [words[index + 1] ?? ''] : []));
  return { varFile: [...new Set(files)] };
}
