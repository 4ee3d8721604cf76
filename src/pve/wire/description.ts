/** The description of a guest: the server strips white space at its end and forgets one that is empty or just `0`. */

export function canonicalDescription(text: string): string {
  const stripped = text.trimEnd();
  return stripped === '0' ? '' : stripped;
}

export function equalDescription(a: string, b: string): boolean {
  return canonicalDescription(a) === canonicalDescription(b);
}
