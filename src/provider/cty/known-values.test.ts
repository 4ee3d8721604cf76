import { describe, expect, it } from 'vitest';
import { decodeMsgpack, encodeMsgpack } from './codec.ts';
import { KnownValues } from './known-values.ts';
import { type CtyType, objectOf } from './value.ts';

const TYPE: CtyType = ['object', { name: 'string', size: 'number' }];
const vm = (size: number) =>
  objectOf([
    ['name', 'web'],
    ['size', size],
  ]);
const bytesOf = (size: number) => encodeMsgpack(vm(size), TYPE);

describe('values that were seen before', () => {
  it('are not read again', () => {
    const values = new KnownValues(TYPE);
    expect(values.decode(bytesOf(1))).toEqual(vm(1));
    expect(values.decode(bytesOf(1))).toBe(values.decode(bytesOf(1)));
    expect(values.decode(bytesOf(2))).toEqual(vm(2));
  });

  it('are recognised by their bytes', () => {
    const values = new KnownValues(TYPE);
    const value = vm(1);
    expect(values.decode(values.encode(value))).toBe(value);
  });

  it('are returned in the bytes in which they came', () => {
    const values = new KnownValues(TYPE);
    // In another order than ours.
    const bytes = Buffer.from('82a473697a6501a46e616d65a3776562', 'hex');
    const value = values.decode(bytes);
    expect(value).toEqual(vm(1));
    expect(Buffer.from(values.encode(value))).toEqual(bytes);
    expect(decodeMsgpack(values.encode(vm(1)), TYPE)).toEqual(value);
  });

  it('do not depend on the buffer that held them', () => {
    const values = new KnownValues(TYPE);
    const buffer = Buffer.from(bytesOf(1));
    values.decode(buffer);
    bytesOf(2).forEach((byte, place) => {
      buffer[place] = byte;
    });
    expect(values.decode(buffer)).toEqual(vm(2));
    expect(values.decode(bytesOf(1))).toEqual(vm(1));
  });

  it('are forgotten after many newer ones', () => {
    const values = new KnownValues(TYPE);
    const [first, used] = [values.decode(bytesOf(1)), values.decode(bytesOf(2))];
    for (let size = 3; size < 100; size += 1) {
      values.decode(bytesOf(size));
      values.decode(bytesOf(2));
    }
    expect(values.decode(bytesOf(2))).toBe(used);
    expect(values.decode(bytesOf(1))).not.toBe(first);
    expect(values.decode(bytesOf(1))).toEqual(first);
  });

  it('may be null', () => {
    const values = new KnownValues(TYPE);
    expect([values.decode(values.encode(null)), values.decode(values.encode(null))]).toEqual([null, null]);
  });
});
