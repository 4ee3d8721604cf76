import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeIso } from './iso9660.ts';
import { readIso } from './testing/read-iso.ts';

const name = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/);
const content = fc.oneof(
  fc.uint8Array({ maxLength: 64 }),
  // Around the ends of sectors.
  fc.tuple(fc.integer({ min: 0, max: 3 }), fc.integer({ min: -1, max: 1 })).map(([sectors, more]) => {
    return new Uint8Array(Math.max(0, sectors * 2048 + more)).fill(7);
  }),
);
const files = fc.uniqueArray(fc.record({ name, bytes: content }), { selector: (file) => file.name, maxLength: 80 });

describe('any volume', () => {
  it('returns the files it was created from, under both kinds of names', () => {
    fc.assert(
      fc.property(
        files,
        fc.date({ min: new Date('1970-01-01'), max: new Date('2099-01-01'), noInvalidDate: true }),
        (given, at) => {
          const image = writeIso({ label: 'cidata', files: given, at });
          const expected = new Map(given.map((file) => [file.name, Buffer.from(file.bytes).toString('hex')]));
          for (const names of ['rock-ridge', 'joliet'] as const) {
            const read = readIso(image, names).files;
            expect(new Map(read.map((file) => [file.name, file.bytes.toString('hex')]))).toEqual(expected);
            expect(read).toHaveLength(given.length);
          }
          const identifiers = readIso(image, 'short').files.map(({ identifier }) => identifier);
          expect(new Set(identifiers).size).toBe(given.length);
          expect([...identifiers].sort()).toEqual(identifiers);
          expect(identifiers.every((each) => /^[A-Z0-9_]{1,8}\.[A-Z0-9_]{0,3};1$/.test(each))).toBe(true);
        },
      ),
    );
  });
});
