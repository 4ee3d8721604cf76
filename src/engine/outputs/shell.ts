/** Words for shells. */

/** Any text as one word that no shell looks into; NUL cannot occur in one. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Text that stays inside a comment. */
export function commentText(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}
