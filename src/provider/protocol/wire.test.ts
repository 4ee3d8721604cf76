/** What a message may hold that the generated ones do not show. The bytes are written by hand from the specification. */
import { describe, expect, it } from 'vitest';
import { type MessageTables, readMessage, writeMessage } from './wire.ts';

const TABLES: MessageTables = {
  Vm: [
    { number: 1, name: 'name', type: 'string' },
    { number: 2, name: 'id', type: 'int64' },
    { number: 3, name: 'disks', type: 'Disk', many: 'map' },
  ],
  Disk: [{ number: 1, name: 'isThin', type: 'bool' }],
};

const read = (hex: string) => readMessage(TABLES, 'Vm', Buffer.from(hex.replaceAll(' ', ''), 'hex'));
const NOTHING = { name: '', id: 0n, disks: {} };

describe('a message', () => {
  it('without bytes has the default values', () => {
    expect(read('')).toEqual(NOTHING);
    expect(Buffer.from(writeMessage(TABLES, 'Vm', NOTHING)).toString('hex')).toBe('');
  });

  it('may be a part of a larger buffer', () => {
    const whole = Buffer.from('ffff1005ff', 'hex');
    expect(readMessage(TABLES, 'Vm', whole.subarray(2, 4))).toEqual({ ...NOTHING, id: 5n });
  });

  it.each([
    ['a number', '78 01'],
    ['eight bytes', '79 0000000000000000'],
    ['text', '7a 02 6869'],
    ['four bytes', '7d 00000000'],
  ])('keeps the known fields next to a new one: %s', (_, field) => {
    expect(read(`${field} 10 05`)).toEqual({ ...NOTHING, id: 5n });
  });

  it('uses the last value of a field that comes twice', () => {
    expect(read('10 05 10 06')).toEqual({ ...NOTHING, id: 6n });
  });

  it('reads a negative number, and one of ten bytes', () => {
    expect(read('10 ffffffffffffffffff01')).toEqual({ ...NOTHING, id: -1n });
    expect(Buffer.from(writeMessage(TABLES, 'Vm', { id: -1n })).toString('hex')).toBe('10ffffffffffffffffff01');
  });

  it('reads entries without a key, without a value, and with a name that objects have', () => {
    expect(read('1a 02 1200').disks).toEqual({ '': { isThin: false } });
    expect(read('1a 03 0a0161').disks).toEqual({ a: { isThin: false } });
    const { disks } = read(`1a 0f 0a09 ${Buffer.from('__proto__').toString('hex')} 1202 0801`);
    expect(Object.entries(disks as object)).toEqual([['__proto__', { isThin: true }]]);
  });

  it.each([
    ['a text that is longer than the message', '0a 05 61', 'the message ends too early'],
    ['a number without an end', '10 ff', 'the message ends too early'],
    ['a number of eleven bytes', '10 ffffffffffffffffffffff01', 'a number has too many bytes'],
    ['a skipped field that is cut', '79 00', 'the message ends too early'],
    ['a field of another kind', '08 01', 'the field name has the wire type 0'],
    ['an unknown wire type', '7e', '6 is no wire type'],
  ])('is refused with %s', (_, hex, message) => {
    expect(() => read(hex)).toThrow(new RangeError(message));
  });

  it('has to be one of the protocol', () => {
    expect(() => readMessage(TABLES, 'Nic', new Uint8Array())).toThrow('The protocol has no message Nic.');
  });
});
