import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalProperty,
  equalProperty,
  PropertyValue,
  parseProperty,
  printProperty,
  splitProperty,
} from './property-string.ts';
import { ALL_FORMATS, parsed, propertyOf, spellingOf } from './testing/arbitraries.ts';

const sorted = (value: PropertyValue) => [...value.entries].sort();

it('knows all the formats of a guest', () => {
  expect(ALL_FORMATS.length).toBe(30);
});

describe.each(ALL_FORMATS.map((format) => [format.name, format] as const))('the format %s', (_, format) => {
  it('reads back what it printed', () => {
    fc.assert(
      fc.property(propertyOf(format), (value) => {
        expect(sorted(parsed(format, printProperty(format, value)))).toEqual(sorted(value));
      }),
    );
  });

  it('prints canonically: printing again changes nothing, and neither does the order of sub-keys', () => {
    fc.assert(
      fc.property(propertyOf(format), (value) => {
        const text = printProperty(format, value);
        expect(printProperty(format, parsed(format, text))).toBe(text);
        expect(printProperty(format, new PropertyValue([...value.entries].reverse()))).toBe(text);
      }),
    );
  });

  it('puts the default key first and sorts the others, required ones before the rest', () => {
    fc.assert(
      fc.property(propertyOf(format), (value) => {
        const { defaultKey = '', pair } = format;
        const leading = value.get(defaultKey) === undefined ? [] : [defaultKey];
        const paired = pair && leading.length > 0 && value.get(pair.valueKey) !== undefined ? [pair.valueKey] : [];
        const others = sorted(value.without(...leading, ...paired)).map(([key]) => key);
        const isRequired = (key: string) => format.keys.get(key)?.required === true;
        expect([...parsed(format, printProperty(format, value)).entries.keys()]).toEqual([
          ...leading,
          ...paired,
          ...others.filter(isRequired),
          ...others.filter((key) => !isRequired(key)),
        ]);
      }),
    );
  });

  it('finds all spellings of one meaning equal, in both directions', () => {
    const spellings = propertyOf(format).chain((value) =>
      fc.tuple(fc.constant(value), spellingOf(format, value), spellingOf(format, value)),
    );
    fc.assert(
      fc.property(spellings, ([value, first, second]) => {
        const [a, b] = [parsed(format, first), parsed(format, second)];
        expect(equalProperty(format, value, value)).toBe(true);
        expect([equalProperty(format, a, b), equalProperty(format, b, a)]).toEqual([true, true]);
        expect([equalProperty(format, value, a), equalProperty(format, value, b)]).toEqual([true, true]);
      }),
    );
  });

  it('is an equivalence on unrelated values too', () => {
    fc.assert(
      fc.property(propertyOf(format), propertyOf(format), propertyOf(format), (a, b, c) => {
        expect(equalProperty(format, a, b)).toBe(equalProperty(format, b, a));
        if (equalProperty(format, a, b) && equalProperty(format, b, c)) expect(equalProperty(format, a, c)).toBe(true);
      }),
    );
  });

  it('notices a changed sub-key', () => {
    const changes = propertyOf(format).chain((value) => fc.tuple(fc.constant(value), fc.constantFrom(...format.keys)));
    fc.assert(
      fc.property(changes, ([value, [key, subKey]]) => {
        const before = value.with(key, subKey.type === 'disk-size' ? '1G' : '1');
        const after = value.with(key, subKey.type === 'disk-size' ? '2G' : '0');
        expect(equalProperty(format, before, after)).toBe(false);
      }),
    );
  });

  it('changes one sub-key and keeps the rest', () => {
    const changes = propertyOf(format).chain((value) =>
      fc.tuple(fc.constant(value), fc.constantFrom(...format.keys.keys())),
    );
    fc.assert(
      fc.property(changes, ([value, key]) => {
        const others = (each: PropertyValue) => sorted(each.without(key));
        expect(value.with(key, 'x').get(key)).toBe('x');
        expect(value.with(key, undefined).get(key)).toBeUndefined();
        expect(others(value.with(key, 'x'))).toEqual(others(value));
        expect(sorted(value.with(key, undefined))).toEqual(others(value));
      }),
    );
  });
});

it('never throws on any text, and what it accepts it can print and read back with the same meaning', () => {
  fc.assert(
    fc.property(fc.constantFrom(...ALL_FORMATS), fc.string({ maxLength: 40 }), (format, text) => {
      const result = parseProperty(format, text);
      if (!result.ok || text.includes('\n')) return;
      const printed = printProperty(format, result.value);
      expect(canonicalProperty(format, parsed(format, printed))).toBe(canonicalProperty(format, result.value));
    }),
    { numRuns: 2000 },
  );
});

it('splits so that joining gives the text back, blank parts aside', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const joined = splitProperty(text).map(({ key, value }) => (key === undefined ? value : `${key}=${value}`));
      expect(joined).toEqual(text.split(',').filter((part) => part.trim() !== ''));
    }),
  );
});
