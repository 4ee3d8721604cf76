/** A name for a new stack: that of its directory, without characters that a name cannot have. */
export function stackNameOf(directory: string): string {
  const plain = directory
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 63);
  return plain === '' ? 'adopted' : plain;
}
