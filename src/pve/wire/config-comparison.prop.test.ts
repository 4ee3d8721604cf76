import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareConfigValue } from './config-comparison.ts';
import { CONFIG_KEYS } from './config-keys.ts';
import { propertyOf, spellingOf } from './testing/arbitraries.ts';

const propertyKeys = CONFIG_KEYS.flatMap((entry) =>
  'format' in entry ? [{ ...entry, key: entry.count === undefined ? entry.name : `${entry.name}0` }] : [],
);

it('finds all spellings of one property string equal, for every key that has one', () => {
  const cases = fc.constantFrom(...propertyKeys).chain(({ key, kind, format }) => {
    // A drive needs a volume; everything else about it is random.
    const values = propertyOf(format).map((value) => (kind === 'drive' ? value.with('file', 'local:8') : value));
    return values.chain((value) => fc.tuple(fc.constant(key), spellingOf(format, value), spellingOf(format, value)));
  });
  fc.assert(
    fc.property(cases, ([key, desired, actual]) => {
      expect(compareConfigValue(key, desired, actual)).toBe('equal');
    }),
    { numRuns: 1500 },
  );
});

it('finds every value equal to itself, whatever the key', () => {
  const key = fc.oneof(fc.constantFrom(...CONFIG_KEYS.map((entry) => entry.name)), fc.string());
  const value = fc.option(fc.oneof(fc.string(), fc.integer(), fc.boolean()), { nil: undefined });
  fc.assert(
    fc.property(key, value, (someKey, someValue) => {
      expect(compareConfigValue(someKey, someValue, someValue)).toBe('equal');
    }),
  );
});
