/** Percent-encoding, the strict kind: whatever is not a letter, a digit or one of `-_.~` is escaped. */
import { ProxwrightError } from '../../base/errors.ts';

/**
 * Safe as a form key, a form value and a path component. Stricter than `encodeURIComponent`, which leaves `!'()*`
 * alone: the server accepts both, and the strict form has only one spelling per text.
 */
export function percentEncode(text: string): string {
  try {
    return encodeURIComponent(text).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    );
  } catch (cause) {
    throw new ProxwrightError({
      code: 'INVARIANT',
      detail: 'A text for the wire contains half a surrogate pair.',
      cause,
    });
  }
}

/** The text behind percent-encoding; a text that is not well encoded is returned as it stands. */
export function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
