/** A finding of a conversion about a line of the source. */

/**
 * - `left`: could not be translated; it stays as a comment.
 * - `review`: translated, and a person should look at it.
 * - `dropped`: not needed any more.
 * - `note`: behaves differently from now on.
 */
export type FindingKind = 'left' | 'review' | 'dropped' | 'note';

export interface Finding {
  readonly kind: FindingKind;
  readonly file: string;
  readonly line: number;
  /** The address of the resource, or the block. */
  readonly subject: string;
  /** What it is about: an attribute, a reference. */
  readonly what: string;
  /** Why, and the nearest way. */
  readonly why: string;
}

/** A trap in the old configuration. */
export interface Trap {
  readonly rule: string;
  readonly file: string;
  readonly line: number;
  readonly subject: string;
  /** What happens. */
  readonly what: string;
  /** What to do, or what Proxwright does instead. */
  readonly remedy: string;
  /** Where it is known. */
  readonly known: readonly string[];
}
