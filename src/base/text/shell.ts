/** Text in shell commands and scripts. */

/** Quotes any text as one shell word. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Quotes a word only if a shell would interpret it, such as the brackets of `vm.web[2]`. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./…-]+$/.test(text) ? text : shellQuoted(text);
}

/** Keeps text inside one comment line. */
export function commentText(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}
