/** The smaller grammars: booleans, decimals, lists, tags, descriptions, SSH keys, boot order. */
import { describe, expect, it } from 'vitest';
import {
  decodeSshKeys,
  encodeSshKeys,
  equalDescription,
  equalSshKeys,
  equalTags,
  isBootDevice,
  isTag,
  parseBootOrder,
  parseTags,
  printBootOrder,
  printTags,
} from './config-texts.ts';
import { percentDecode, percentEncode } from './encoding.ts';
import { canonicalDecimal, fromWireBoolean, printDecimal, splitList, toWireBoolean } from './scalars.ts';

describe('booleans', () => {
  it('are sent as 0 and 1, and parsed in every spelling of the server', () => {
    expect([true, false].map(toWireBoolean)).toEqual(['1', '0']);
    for (const value of [1, '1', true, 'yes', 'ON', 'True']) expect(fromWireBoolean(value)).toBe(true);
    for (const value of [0, '0', false, 'no', 'OFF', 'False']) expect(fromWireBoolean(value)).toBe(false);
    for (const value of [2, '', ' 1', 'y', null, undefined]) expect(fromWireBoolean(value)).toBeUndefined();
  });
});

describe('decimals', () => {
  it('are printed without exponent', () => {
    expect([32, 0.5, 1e21, 1e-7, -2].map(printDecimal)).toEqual([
      '32',
      '0.5',
      '1000000000000000000000',
      '0.0000001',
      '-2',
    ]);
    expect(() => printDecimal(Number.POSITIVE_INFINITY)).toThrow('finite');
  });

  it('have one canonical spelling', () => {
    expect(['1.50', '04', '0.0', '-0', '+3', 'x', '1e3'].map(canonicalDecimal)).toEqual([
      '1.5',
      '4',
      '0',
      '0',
      '3',
      'x',
      '1e3',
    ]);
  });
});

it('lists split at commas, semicolons and blanks, or at NUL if there is one', () => {
  expect(splitList(' a,b; c\td,,')).toEqual(['a', 'b', 'c', 'd']);
  expect(splitList('a b\0c,d')).toEqual(['a b', 'c,d']);
  expect(splitList(' ')).toEqual([]);
});

describe('tags', () => {
  it('are folded, sorted and distinct, as recorded', () => {
    expect(printTags(parseTags('Web;prod;web;prod,A'))).toBe('a;prod;web');
  });

  it('follow the style of the datacenter', () => {
    expect(parseTags('Zeta;alpha;Alpha;alpha', { caseSensitive: true, keepOrder: true })).toEqual([
      'Zeta',
      'alpha',
      'Alpha',
    ]);
    expect(parseTags('b;B;a', { caseSensitive: true, keepOrder: false })).toEqual(['B', 'a', 'b']);
  });

  it('compare as sets, and a blank is no tag', () => {
    expect(equalTags('b;A', 'a b')).toBe(true);
    expect(equalTags(' ', '')).toBe(true);
    expect(equalTags('a', 'a;b')).toBe(false);
  });

  it('have a limited alphabet', () => {
    expect(['plus+x', '1num', '_lead', 'dot.x'].map(isTag)).toEqual([true, true, true, true]);
    expect(['', '-lead', 'a/b', 'ü'].map(isTag)).toEqual([false, false, false, false]);
  });
});

it('descriptions are equal up to white space at their end', () => {
  expect(equalDescription('a\n\n', 'a')).toBe(true);
  expect(equalDescription('0', '')).toBe(true);
  expect(equalDescription(' a', 'a')).toBe(false);
});

describe('SSH keys', () => {
  const keys = ["ssh-ed25519 AAAA+/= o'neil+tag@host (work) *!", 'ssh-rsa BBBB second'];

  it('use only characters the server accepts in an encoded text', () => {
    expect(encodeSshKeys(keys)).toMatch(/^[-%a-zA-Z0-9_.~]+$/);
    expect(encodeSshKeys(keys)).toContain('%20');
    expect(decodeSshKeys(encodeSshKeys(keys))).toEqual(keys);
  });

  it('compare by their decoded lines, whatever their order', () => {
    expect(equalSshKeys(encodeURIComponent(`${keys[1]}\r\n\n  ${keys[0]}\n`), encodeSshKeys(keys))).toBe(true);
    expect(equalSshKeys(encodeSshKeys(keys), encodeSshKeys(keys.slice(1)))).toBe(false);
  });

  it('leave text unchanged that is not well encoded', () => {
    expect(decodeSshKeys('100% sure')).toEqual(['100% sure']);
  });
});

it('percent-encoding leaves only unreserved characters and rejects broken text', () => {
  expect(percentEncode("aZ09-_.~!'()*=;&+% ü")).toBe('aZ09-_.~%21%27%28%29%2A%3D%3B%26%2B%25%20%C3%BC');
  expect(percentDecode('%C3%BC%20')).toBe('ü ');
  expect(() => percentEncode('\ud800')).toThrow('surrogate');
});

describe('the boot order', () => {
  it.each([
    ['order=scsi0;net0', { kind: 'order', devices: ['scsi0', 'net0'] }],
    [' ', { kind: 'order', devices: [] }],
    ['', { kind: 'order', devices: [] }],
    ['dc', { kind: 'legacy', letters: 'dc' }],
    ['legacy=dc', { kind: 'legacy', letters: 'dc' }],
    ['legacy=dc,order=scsi0', { kind: 'order', devices: ['scsi0'] }],
    [undefined, { kind: 'legacy', letters: 'cdn' }],
  ])('reads %j', (text, expected) => {
    expect(parseBootOrder(text)).toEqual(expected);
  });

  it('is rejected if it is not a property string', () => {
    expect(parseBootOrder('order=a,order=b')).toBeUndefined();
  });

  it('prints devices, and nothing for none', () => {
    expect(printBootOrder(['scsi0', 'net0'])).toBe('order=scsi0;net0');
    expect(printBootOrder([])).toBe('');
  });

  it('names drives, network cards, USB and PCI devices that can exist', () => {
    expect(['scsi30', 'ide2', 'net31', 'usb0', 'hostpci15'].filter((name) => !isBootDevice(name))).toEqual([]);
    expect(['efidisk0', 'tpmstate0', 'scsi31', 'net', 'unused0', 'cdrom', 'serial0'].filter(isBootDevice)).toEqual([]);
  });
});
