import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { printByteSize } from '../../base/values/units.ts';
import { textOfWords, WORDS, type WordKind, wordsOfText } from './words.ts';

const MIB = 1024 ** 2;
const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
const sizes = fc.integer({ min: 1, max: 4096 }).map((count) => printByteSize(count * MIB));

/** Values as the file writes them, for every kind that can be read back. */
const VALUES: Partial<Record<WordKind, fc.Arbitrary<unknown>>> = {
  text: name,
  number: fc.integer({ min: 0, max: 10_000 }),
  boolean: fc.boolean(),
  mebibytes: sizes,
  balloon: fc.oneof(fc.constant(false), sizes),
  'disk-size': sizes,
  seconds: fc.constantFrom('30s', '90s', '2m', '1h', '0s'),
  milliseconds: fc.constantFrom('250ms', '1s', '2m', '90s'),
  'decimal-seconds': fc.constantFrom('100ms', '1500ms', '2s', '1m'),
  'number-or-text': fc.oneof(fc.nat(64), fc.constant('host')),
  'text-or-false': fc.oneof(fc.constant(false), name),
  base64: fc.string({ minLength: 1 }).filter((text) => text.trim() !== ''),
  'page-size': fc.constantFrom('any', '2MiB', '1GiB'),
  'number-or-false': fc.oneof(fc.constant(false), fc.integer({ min: 1, max: 4094 })),
  limit: fc.integer({ min: 0, max: 100 }),
  discard: fc.boolean(),
  medium: fc.oneof(fc.constant(false), fc.constant('local:iso/a.iso')),
  spice: fc.constant(true),
  list: fc.array(name),
  'number-list': fc.array(fc.nat(4094)),
  'blank-list': fc.array(name),
  tags: fc.array(name),
  'ssh-keys': fc.array(name.map((key) => `ssh-ed25519 ${key}`)),
  hotplug: fc.subarray(['network', 'disk', 'usb', 'cpu', 'memory', 'cloudinit']),
  boot: fc.uniqueArray(fc.constantFrom('scsi0', 'net0', 'ide2'), { minLength: 1 }),
};

describe('words', () => {
  it.each(Object.entries(VALUES) as [WordKind, fc.Arbitrary<unknown>][])(
    'of kind %s come back from the wire',
    (kind, values) => {
      fc.assert(
        fc.property(values, (value) => {
          expect(wordsOfText(kind, textOfWords(kind, value), 'cores')).toEqual(value);
        }),
      );
    },
  );

  it('can be computed from any text that other clients may have written', () => {
    const kinds = Object.keys(WORDS) as WordKind[];
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.option(fc.string(), { nil: undefined }), (kind, text) => {
        expect(wordsOfText(kind, text, 'onboot')).not.toBeUndefined();
      }),
    );
  });
});
