/** Compares our bytes with those of a library that reads the same declarations. */
import { create, type DescMessage, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as generated from './generated/tfplugin6.generated.ts';
import { MESSAGES } from './generated/tfplugin6.tables.generated.ts';
import { type Field, readMessage, writeMessage } from './wire.ts';

const NAMES = Object.keys(MESSAGES);

function schemaOf(name: string): DescMessage {
  const schemas: Readonly<Record<string, unknown>> = generated;
  return schemas[`${name.replaceAll('.', '_')}Schema`] as DescMessage; // the generator names them so
}

const SCALARS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: fc.string({ unit: 'grapheme', maxLength: 200 }),
  bytes: fc.uint8Array({ maxLength: 300 }),
  bool: fc.boolean(),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  enum: fc.integer({ min: 0, max: 2 }),
};

/** Messages inside messages end after a few steps. */
function messageOf(name: string, depth = 3): fc.Arbitrary<Record<string, unknown>> {
  const entries = (MESSAGES[name] ?? []).flatMap((field): [string, fc.Arbitrary<unknown>][] => {
    const value = messageOrScalar(field, depth);
    if (field.oneof !== undefined || value === undefined) return [];
    if (field.many === 'list') return [[field.name, fc.array(value, { maxLength: 3 })]];
    const keys = fc.string({ unit: 'grapheme', maxLength: 5 }).filter((key) => key !== '__proto__');
    if (field.many === 'map') return [[field.name, fc.dictionary(keys, value, { maxKeys: 3, noNullPrototype: true })]];
    return [[field.name, value]];
  });
  const groups = new Set((MESSAGES[name] ?? []).flatMap(({ oneof }) => oneof ?? []));
  for (const group of groups) {
    const chosen = (MESSAGES[name] ?? [])
      .filter(({ oneof }) => oneof === group)
      .map((field) =>
        fc.record({ case: fc.constant(field.name), value: messageOrScalar(field, depth) ?? fc.constant('') }),
      );
    entries.push([group, fc.oneof(...chosen)]);
  }
  return fc.record(Object.fromEntries(entries), { requiredKeys: [] });
}

function messageOrScalar({ type }: Field, depth: number): fc.Arbitrary<unknown> | undefined {
  if (!Object.hasOwn(MESSAGES, type)) return SCALARS[type];
  return depth > 0 ? messageOf(type, depth - 1) : undefined;
}

/** Without the marks of the library, and with bytes of one kind. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([name]) => name !== '$typeName' && name !== '$unknown');
  return Object.fromEntries(
    entries.filter(([, inner]) => inner !== undefined).map(([name, inner]) => [name, plain(inner)]),
  );
}

describe.each(NAMES)('%s', (name) => {
  const schema = schemaOf(name);

  it('is read by the library as it was written', () => {
    fc.assert(
      fc.property(messageOf(name), (message) => {
        const read: Message = fromBinary(schema, writeMessage(MESSAGES, name, message));
        expect(plain(read)).toEqual(plain(create(schema, message)));
      }),
      { numRuns: 30 },
    );
  });

  it('is read as the library wrote it', () => {
    fc.assert(
      fc.property(messageOf(name), (message) => {
        const bytes = toBinary(schema, create(schema, message));
        expect(plain(readMessage(MESSAGES, name, bytes))).toEqual(plain(fromBinary(schema, bytes)));
      }),
      { numRuns: 30 },
    );
  });

  it('is refused if it is cut, or read without its last fields, as the library does', () => {
    fc.assert(
      fc.property(messageOf(name), fc.double({ min: 0, max: 1, noNaN: true }), (message, share) => {
        const bytes = toBinary(schema, create(schema, message));
        const cut = bytes.subarray(0, Math.floor(bytes.length * share));
        const outcome = (read: () => unknown) => {
          try {
            return plain(read());
          } catch {
            return 'refused';
          }
        };
        expect(outcome(() => readMessage(MESSAGES, name, cut))).toEqual(outcome(() => fromBinary(schema, cut)));
      }),
      { numRuns: 30 },
    );
  });
});
