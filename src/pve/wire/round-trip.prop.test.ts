/** Round trips of the smaller grammars: every printed value parses to the same value. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeSshKeys, encodeSshKeys, parseTags, printTags } from './config-texts.ts';
import { encodeForm, percentDecode, percentEncode } from './encoding.ts';
import { parseUpid, printUpid, toNodeName, toStorageId } from './ids.ts';
import {
  allocationSizeBytes,
  canonicalDecimal,
  GIB,
  KIB,
  parseSize,
  printAllocation,
  printDecimal,
  printSize,
} from './scalars.ts';
import { FILE_CONTENTS, parseVolume, printVolume, type Volume } from './volume.ts';

/** A property fails by its expectations; its return value is ignored. */
function holds<T>(values: fc.Arbitrary<T>, law: (value: T) => unknown): void {
  fc.assert(
    fc.property(values, (value) => {
      law(value);
    }),
  );
}

const wellFormed = fc.string({ unit: 'grapheme' });
const word = (characters: string) => fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 10 });
const nodeName = fc.tuple(word('abZ09'), word('ab-09'), word('abZ09')).map((parts) => toNodeName(parts.join('')));
const storageId = fc.tuple(word('abZ'), word('ab-_.09'), word('ab9')).map((parts) => toStorageId(parts.join('')));
const number32 = fc.integer({ min: 0, max: 0xffffffff });

it('sizes', () => {
  holds(fc.maxSafeNat(), (sizeBytes) => expect(parseSize(printSize(sizeBytes))).toBe(sizeBytes));
});

it('sizes print the same again after reading', () => {
  const texts = fc.tuple(fc.nat(8191), fc.constantFrom('', 'K', 'M', 'G', 'T')).map((parts) => parts.join(''));
  fc.assert(
    fc.property(texts, (text) => {
      const printed = printSize(parseSize(text) ?? -1);
      expect(printSize(parseSize(printed) ?? -1)).toBe(printed);
    }),
  );
});

it('keeps allocations of whole KiB', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 36 }), (sizeKiB) => {
      const text = printAllocation(sizeKiB * KIB);
      expect(text).toMatch(/^\d+(\.\d+)?$/);
      expect(allocationSizeBytes(Number(text))).toBe(sizeKiB * KIB);
      expect(Number(text) * GIB).toBe(sizeKiB * KIB);
    }),
  );
});

it('decimals', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }), (value) => {
      fc.pre(value === 0 || Math.abs(value) > 1e-20);
      const text = printDecimal(value);
      expect(text).toMatch(/^-?\d+(\.\d+)?$/);
      expect(Number(canonicalDecimal(text))).toBe(value === 0 ? 0 : value);
    }),
  );
});

it('UPIDs', () => {
  const parts = fc.record({
    node: nodeName,
    pid: number32,
    processStartTicks: fc.integer({ min: 0, max: 0xfffffffff }),
    startTimeSeconds: number32,
    type: word('abc-_1'),
    id: fc.oneof(fc.constant(''), word('0123>%-a')),
    user: word('ab@!.-1'),
  });
  holds(parts, (each) => expect(parseUpid(printUpid(each))).toEqual(each));
});

it('volumes', () => {
  const vmid = fc.integer({ min: 100, max: 999999999 });
  const directory = fc.record({
    kind: fc.constant('image'),
    layout: fc.constant('directory'),
    storage: storageId,
    vmid,
    name: word('vm-0.q'),
  });
  const block = vmid.chain((id) =>
    fc.record({
      kind: fc.constant('image'),
      layout: fc.constant('block'),
      storage: storageId,
      vmid: fc.constant(id),
      name: word('disk-0').map((rest) => `vm-${id}-${rest}`),
    }),
  );
  const linked = block.map((each) => ({ ...each, base: { vmid: 9000, name: 'base-9000-disk-0' } }));
  const linkedFile = directory.map((each) => ({ ...each, base: { vmid: 9000, name: 'base-9000-disk-0.raw' } }));
  const file = fc.record({
    kind: fc.constant('file'),
    storage: storageId,
    content: fc.constantFrom(...FILE_CONTENTS),
    name: word('a.b/ ='),
  });
  const created = fc.record({
    kind: fc.constant('new'),
    storage: fc.option(storageId, { nil: undefined }),
    sizeGiB: fc
      .double({ min: 0, max: 1e6, noNaN: true })
      .filter((size) => !Object.is(size, -0) && (size === 0 || size > 1e-12)),
  });
  // The literals of `fc.constant` widen to string inside `fc.record`; the shapes are those of the union.
  const volume = fc.oneof(directory, block, linked, linkedFile, file, created) as fc.Arbitrary<Volume>;
  holds(volume, (each) => expect(parseVolume(printVolume(each))).toEqual(each));
});

it('any text that is a volume prints as something that is the same volume', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'abvm-01:/.e') }), (text) => {
      const volume = parseVolume(text);
      if (volume) expect(parseVolume(printVolume(volume))).toEqual(volume);
    }),
    { numRuns: 3000 },
  );
});

it('percent-encoding, SSH keys and tags', () => {
  holds(wellFormed, (text) => expect(percentDecode(percentEncode(text))).toBe(text));
  const line = wellFormed.filter((text) => text.trim() === text && text !== '' && !/[\r\n]/.test(text));
  holds(fc.array(line), (keys) => expect(decodeSshKeys(encodeSshKeys(keys))).toEqual(keys));
  fc.assert(
    fc.property(fc.array(word('abAB01_+.')), (tags) => {
      const printed = printTags(parseTags(tags.join(' ')));
      expect(printTags(parseTags(printed))).toBe(printed);
    }),
  );
});

/** How the server parses a form: splits at `&` and `;`, then at `=`, keeps two pieces; `+` is a blank. */
function decodeLikeServer(form: string): Record<string, string[]> {
  const result: Record<string, string[]> = Object.create(null);
  for (const pair of form.split(/[&;]/).filter((each) => each !== '')) {
    const [key = '', value = ''] = pair.split('=').map((piece) => decodeURIComponent(piece.replaceAll('+', ' ')));
    result[key] = [...(result[key] ?? []), value];
  }
  return result;
}

it('forms, as the server decodes them', () => {
  const scalar = fc.oneof(wellFormed, fc.integer(), fc.boolean(), word('=;&+% '));
  const params = fc.dictionary(
    fc.string({ unit: 'grapheme', minLength: 1 }),
    fc.oneof(scalar, fc.array(scalar, { minLength: 1 })),
  );
  fc.assert(
    fc.property(params, (given) => {
      const text = (value: unknown) => (typeof value === 'boolean' ? (value ? '1' : '0') : String(value));
      const expected = Object.entries(given).map(([key, value]) => [key, [value].flat().map(text)]);
      expect(Object.entries(decodeLikeServer(encodeForm(given))).sort()).toEqual(expected.sort());
    }),
  );
});
