/** A name for a stack that has none yet: that of its directory, as far as a name allows. */
export function stackNameOf(directory: string): string {
  const plain = directory
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 63);
  return plain === '' ? 'adopted' : plain;
}
