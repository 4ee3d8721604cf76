import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isInside, isLinkLocal, networkOf, parseInterface, parseIp, printIp, specialUse } from './ip-address.ts';

const network = (text: string) => {
  const parsed = parseInterface(text);
  if (!parsed) throw new Error(text);
  return parsed;
};
const address = (text: string) => {
  const parsed = parseIp(text);
  if (!parsed) throw new Error(text);
  return parsed;
};

describe('addresses', () => {
  it.each([
    ['10.0.20.11', '10.0.20.11'],
    ['255.255.255.255', '255.255.255.255'],
    ['FD00::0011', 'fd00::11'],
    ['::', '::'],
    ['::1', '::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['1:0:2:3:4:5:6:7', '1:0:2:3:4:5:6:7'],
    ['::ffff:10.0.0.1', '::ffff:a00:1'],
  ])('%s is written %s', (text, printed) => {
    expect(printIp(address(text))).toBe(printed);
  });

  it.each([
    '',
    '10.0.0',
    '10.0.0.256',
    '010.0.0.1',
    '10.0.0.1.2',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    'g::',
    '::1.2.3',
    ':::',
  ])('%j is none', (text) => {
    expect(parseIp(text)).toBeUndefined();
  });

  it('survive printing and parsing', () => {
    const any = fc.oneof(
      fc.bigInt({ min: 0n, max: 2n ** 32n - 1n }).map((value) => ({ version: 4, value }) as const),
      fc.bigInt({ min: 0n, max: 2n ** 128n - 1n }).map((value) => ({ version: 6, value }) as const),
      fc.ipV6().map(address),
    );
    fc.assert(
      fc.property(any, (ip) => {
        expect(parseIp(printIp(ip))).toEqual(ip);
      }),
    );
  });
});

describe('networks', () => {
  it('have a first and a last address', () => {
    const { first, last } = networkOf(network('10.0.20.11/22'));
    expect([printIp(first), printIp(last)]).toEqual(['10.0.20.0', '10.0.23.255']);
    expect(printIp(networkOf(network('fd00::11/64')).last)).toBe('fd00::ffff:ffff:ffff:ffff');
  });

  it('contain the addresses between', () => {
    expect(isInside(address('10.0.23.255'), network('10.0.20.11/22'))).toBe(true);
    expect(isInside(address('10.0.24.0'), network('10.0.20.11/22'))).toBe(false);
    expect(isInside(address('::a00:140b'), network('10.0.20.11/22'))).toBe(false);
  });

  it.each(['10.0.0.1', '10.0.0.1/33', 'fd00::/129', '10.0.0.1/', '/24', '10.0.0.1/2/3'])(
    'are not written %s',
    (text) => {
      expect(parseInterface(text)).toBeUndefined();
    },
  );
});

describe('special addresses', () => {
  it.each(['0.0.0.0', '0.1.2.3', '127.0.0.1', '224.0.0.1', '255.255.255.255', '::', '::1', 'ff02::1'])(
    '%s is one',
    (text) => {
      expect(specialUse(address(text))).toBeTypeOf('string');
    },
  );

  it.each(['10.0.0.1', '172.32.0.1', '8.8.8.8', 'fd00::1', '2001:db8::1'])('%s is none', (text) => {
    expect(specialUse(address(text))).toBeUndefined();
  });

  it('link-local ones are recognised', () => {
    expect(
      ['169.254.1.1', 'fe80::1', 'febf::1', 'fec0::1', '169.253.1.1'].map((text) => isLinkLocal(address(text))),
    ).toEqual([true, true, true, false, false]);
  });
});
