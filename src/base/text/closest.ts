/** "Did you mean …?": the known word that is closest to a mistyped one. */

/** Undefined if no known word is close enough to suggest. */
export function closest(word: string, known: Iterable<string>): string | undefined {
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const limit = best?.distance ?? Math.floor(Math.max(word.length, candidate.length) / 3) + 1;
    // No distance is smaller than the difference in length, and comparing the letters of a very long word takes long.
    if (Math.abs(word.length - candidate.length) >= limit) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < limit) best = { word: candidate, distance };
  }
  return best?.word;
}

/** The number of letters to insert, remove, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, isSwap ? at(i - 2, j - 2) + 1 : replaced));
    }
  }
  return at(a.length, b.length);
}

export function guessWords(guess: string): string {
  return `Did you mean "${guess}"?`;
}

/** `Did you mean "memory"?`, or the list of known names if it is short, or nothing. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const names = [...new Set(known)];
  const guess = closest(word, names);
  if (guess !== undefined) return guessWords(guess);
  if (names.length === 0 || names.length > 12) return undefined;
  return `Known here: ${names.join(', ')}.`;
}
