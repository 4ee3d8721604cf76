/** Random objects of a schema: few values for each type, so that two of them often agree or mean the same. */
import fc from 'fast-check';
import { type CtyObject, type CtyType, type CtyValue, objectOf, UNKNOWN } from '../../cty/value.ts';
import type { Attribute, Attributes } from '../../schema/model.ts';

export interface ArbitraryOptions {
  /** Whether values may be known only after apply. */
  readonly unknowns: boolean;
  /** A configuration cannot set what only the server sets. */
  readonly computed: boolean;
}

export function arbitraryObject(attributes: Attributes, options: ArbitraryOptions): fc.Arbitrary<CtyObject> {
  const parts = Object.entries(attributes).map(([name, attribute]) =>
    arbitraryAttribute(attribute, options).map((value): [string, CtyValue] => [name, value]),
  );
  return fc.tuple(...parts).map((entries) => objectOf(entries));
}

function arbitraryAttribute(attribute: Attribute, options: ArbitraryOptions): fc.Arbitrary<CtyValue> {
  if (attribute.given === 'computed' && !options.computed) return fc.constant(null);
  if (attribute.writeOnly && options.computed) return fc.constant(null);
  const { type } = attribute;
  const value =
    type.kind === 'value'
      ? arbitraryValue(type.type)
      : type.nesting === 'single'
        ? arbitraryObject(type.attributes, options)
        : slots(arbitraryObject(type.attributes, options));
  const required: fc.WeightedArbitrary<CtyValue>[] = [{ arbitrary: value, weight: 3 }];
  if (attribute.given !== 'required') required.push({ arbitrary: fc.constant(null), weight: 2 });
  if (options.unknowns) required.push({ arbitrary: fc.constant(UNKNOWN), weight: 1 });
  return fc.oneof(...required);
}

function slots(item: fc.Arbitrary<CtyObject>): fc.Arbitrary<CtyObject> {
  return fc
    .tuple(fc.option(item), fc.option(item))
    .map(([first, second]) =>
      objectOf([...(first ? [['scsi0', first] as const] : []), ...(second ? [['scsi1', second] as const] : [])]),
    );
}

function arbitraryValue(type: CtyType): fc.Arbitrary<CtyValue> {
  switch (type) {
    case 'string':
      return fc.constantFrom('8GiB', '8192MiB', '60s', '1m', 'BC:24:11:00:00:01', 'bc:24:11:00:00:01', 'none', 'x');
    case 'number':
      return fc.constantFrom(0, 1, 2);
    case 'bool':
      return fc.boolean();
    case 'dynamic':
      return fc.constant(null);
    default:
      return arbitraryCollection(type);
  }
}

function arbitraryCollection(type: Exclude<CtyType, string>): fc.Arbitrary<CtyValue> {
  switch (type[0]) {
    case 'list':
      return fc.array(arbitraryValue(type[1]), { maxLength: 2 });
    case 'set':
      return fc.uniqueArray(arbitraryValue(type[1]), { maxLength: 3 });
    case 'map':
      return fc
        .dictionary(fc.constantFrom('kvm', 'acpi'), arbitraryValue(type[1]), { maxKeys: 2 })
        .map((record) => objectOf(Object.entries(record)));
    default:
      return fc.constant(null);
  }
}
