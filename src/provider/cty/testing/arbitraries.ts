/** Any type and any value of it, for property tests of the codec. */
import fc from 'fast-check';
import { numberFromFloat, numberFromText } from '../number.ts';
import { type CtyType, type CtyValue, objectOf, UNKNOWN } from '../value.ts';

const keys = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', '', 'a', 'toString'),
  fc.string({ unit: 'grapheme', maxLength: 5 }).map((text) => text.normalize('NFC')),
);

const types: fc.Arbitrary<CtyType> = fc.letrec<{ type: CtyType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<CtyType>('string', 'number', 'bool'),
    fc.tuple(fc.constantFrom('list' as const, 'set' as const, 'map' as const), tie('type')),
    fc
      .array(fc.tuple(keys, tie('type')), { maxLength: 4 })
      .map((entries) => ['object', Object.fromEntries(entries)] as const),
    fc.array(tie('type'), { maxLength: 3 }).map((inner) => ['tuple', inner] as const),
  ),
})).type;

export const digits: fc.Arbitrary<string> = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.stringMatching(/^\d{0,30}$/))
  .map(([minus, whole, fraction]) => `${minus ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`);

const numbers: fc.Arbitrary<CtyValue> = fc.oneof(
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((float) => numberFromFloat(float) ?? 0),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map((integer) => numberFromText(String(integer)) ?? 0),
  digits.map((text) => numberFromText(text) ?? 0),
);

function valuesOf(type: CtyType, known: boolean): fc.Arbitrary<CtyValue> {
  const special = known ? fc.constant<CtyValue>(null) : fc.constantFrom<CtyValue[]>(null, UNKNOWN);
  return fc.oneof({ weight: 1, arbitrary: special }, { weight: 6, arbitrary: presentValues(type, known) });
}

function presentValues(type: CtyType, known: boolean): fc.Arbitrary<CtyValue> {
  if (type === 'string') return fc.string({ unit: 'grapheme' }).map((text) => text.normalize('NFC'));
  if (type === 'number') return numbers;
  if (type === 'bool') return fc.boolean();
  if (type === 'dynamic') return fc.constant(null);
  switch (type[0]) {
    case 'list':
    case 'set':
      return fc.array(valuesOf(type[1], known), { maxLength: 20 });
    case 'map':
      return fc.array(fc.tuple(keys, valuesOf(type[1], known)), { maxLength: 20 }).map(objectOf);
    case 'tuple':
      return fc.tuple(...type[1].map((inner) => valuesOf(inner, known)));
    case 'object': {
      const entries = Object.entries(type[1]).map(([name, inner]) =>
        fc.tuple(fc.constant(name), valuesOf(inner, known)),
      );
      return fc.tuple(...entries).map(objectOf);
    }
  }
}

interface Typed {
  readonly type: CtyType;
  readonly value: CtyValue;
}

export const typedValues: fc.Arbitrary<Typed> = types.chain((type) =>
  valuesOf(type, false).map((value) => ({ type, value })),
);

export const knownTypedValues: fc.Arbitrary<Typed> = types.chain((type) =>
  valuesOf(type, true).map((value) => ({ type, value })),
);
