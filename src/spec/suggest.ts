/** Hints for mistyped names. */
import { closest } from '../base/closest.ts';

/** `Did you mean "memory"?`, or the list of known names if it is short, or nothing. */
export function didYouMean(word: string, known: Iterable<string>): string | undefined {
  const names = [...new Set(known)];
  const guess = closest(word, names);
  if (guess !== undefined) return `Did you mean "${guess}"?`;
  if (names.length === 0 || names.length > 12) return undefined;
  return `Known here: ${names.join(', ')}.`;
}
