/** Generators and readers of wire values for the property tests of this folder and of others. */
import fc from 'fast-check';
import * as formats from '../formats.ts';
import { type PropertyFormat, PropertyValue, parseProperty, type SubKey } from '../property-string.ts';
import { printSize } from '../scalars.ts';

export const ALL_FORMATS: readonly PropertyFormat[] = Object.values(formats).filter(
  (each): each is PropertyFormat => typeof each === 'object' && 'keys' in each && each.keys instanceof Map,
);

/** Fails where the text does not parse. */
export function parsed(format: PropertyFormat, text: string): PropertyValue {
  const result = parseProperty(format, text);
  if (!result.ok) throw new Error(`${format.name}: ${text}: ${result.problem}`);
  return result.value;
}

const characters = (text: string) => fc.constantFrom(...text);

/** Text that a part may contain: no comma, no line feed, not blank; `=`, `;` and `:` on purpose. */
const freeText = fc
  .string({ unit: characters('abcXYZ019-_.:/;=%+@ ü☃'), minLength: 1, maxLength: 12 })
  .filter((text) => text.trim() !== '');

const element = fc.string({ unit: characters('abcF019-+.'), minLength: 1, maxLength: 6 });

/** A sub-key's text in its canonical spelling. */
export function textFor(subKey: SubKey): fc.Arbitrary<string> {
  if (subKey.enum) return fc.constantFrom(...subKey.enum);
  switch (subKey.type) {
    case 'boolean':
      return fc.constantFrom('0', '1');
    case 'integer':
      return fc.nat().map(String);
    case 'number':
      return fc.tuple(fc.nat(), fc.nat(999)).map(([whole, fraction]) => `${whole}.${fraction}`);
    case 'disk-size':
      return fc.maxSafeNat().map(printSize);
    case 'list':
      return fc.array(element, { minLength: 1, maxLength: 4 }).map((elements) => elements.join(';'));
    case 'string':
      return freeText;
  }
}

/** Any value of a format: some of its sub-keys, perhaps unknown ones, in any order. */
export function propertyOf(format: PropertyFormat): fc.Arbitrary<PropertyValue> {
  const known = fc.record(Object.fromEntries([...format.keys].map(([key, subKey]) => [key, textFor(subKey)])), {
    requiredKeys: [],
  });
  const unknown = fc.dictionary(
    fc.string({ unit: characters('abz_-09'), minLength: 1, maxLength: 8 }).map((name) => `x${name}`),
    freeText,
    { maxKeys: 2 },
  );
  return fc
    .tuple(known, unknown)
    .map(([some, others]) =>
      // A sub-key left out by `fc.record` is missing, not undefined; the type cannot say so.
      [...Object.entries(others), ...Object.entries(some)].flatMap(([key, text]) =>
        text !== undefined && isFree(format, key) ? [[key, text] as const] : [],
      ),
    )
    .chain((entries) => fc.shuffledSubarray(entries, { minLength: entries.length }))
    .map((entries) => new PropertyValue(entries));
}

/** The same meaning written differently: aliases, words for booleans, spelled-out defaults, other order and case. */
export function spellingOf(format: PropertyFormat, value: PropertyValue): fc.Arbitrary<string> {
  const absent = [...format.keys].filter(([key, subKey]) => subKey.default !== undefined && !value.entries.has(key));
  return fc
    .shuffledSubarray(absent.map(([key, subKey]) => [key, subKey.default ?? ''] as const))
    .chain((defaults) => {
      const parts = [...value.entries, ...defaults].map(([key, text]) =>
        fc.tuple(nameOf(format, key, text), respelled(format.keys.get(key), text)),
      );
      return fc.tuple(...parts);
    })
    .chain((parts) => fc.shuffledSubarray(parts, { minLength: parts.length }))
    .chain((parts) =>
      fc
        .constantFrom(',', ',,', ', ,')
        .map((comma) => parts.map(([name, text]) => (name === undefined ? text : `${name}=${text}`)).join(comma)),
    );
}

function isFree(format: PropertyFormat, key: string): boolean {
  return format.keys.has(key) || !(format.aliases.has(key) || format.pair?.names.has(key));
}

function nameOf(format: PropertyFormat, key: string, text: string): fc.Arbitrary<string | undefined> {
  const aliases = [...format.aliases].filter(([, proper]) => proper === key).map(([alias]) => alias);
  const bare = key === format.defaultKey && !text.includes('=') ? [undefined] : [];
  return fc.constantFrom(key, ...aliases, ...bare);
}

function respelled(subKey: SubKey | undefined, text: string): fc.Arbitrary<string> {
  switch (subKey?.type) {
    case 'boolean':
      return text === '1' ? fc.constantFrom('1', 'on', 'Yes', 'TRUE') : fc.constantFrom('0', 'off', 'No', 'FALSE');
    case 'integer':
      return fc.constantFrom(text, `0${text}`);
    case 'number':
      return fc.constantFrom(text, `0${text}`, text.includes('.') ? `${text}0` : `${text}.0`);
    case 'list': {
      const elements = text.split(';').map((each) => (subKey.caseFold ? each.toUpperCase() : each));
      const orders = subKey.ordered
        ? fc.constant(elements)
        : fc.shuffledSubarray(elements, { minLength: elements.length });
      return orders.map((each) => each.join(';'));
    }
    default:
      return fc.constantFrom(text, subKey?.caseFold ? text.toUpperCase() : text);
  }
}
