/** Simulates a bad disk: copies of a text with one bit flipped, one for each bit. */
export function* damagedCopies(text: string): Generator<string> {
  const bytes = Buffer.from(text);
  for (let index = 0; index < bytes.length; index++) {
    for (let bit = 0; bit < 8; bit++) {
      const copy = Buffer.from(bytes);
      copy.writeUInt8(copy.readUInt8(index) ^ (1 << bit), index);
      yield copy.toString('utf8');
    }
  }
}
