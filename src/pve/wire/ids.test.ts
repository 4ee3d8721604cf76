import { describe, expect, it } from 'vitest';
import {
  encodeUpid,
  isNodeName,
  isStorageId,
  isUpid,
  parseUpid,
  parseVmid,
  printUpid,
  toNodeName,
  toStorageId,
  toVmid,
  type Upid,
} from './ids.ts';

it('accepts VM ids from 100 to 999999999, as numbers or digits', () => {
  expect([100, 999999999, '100', '999999999'].map(parseVmid)).toEqual([100, 999999999, 100, 999999999]);
  expect([99, 1e9, 100.5, '99', '0100', '1e3', ' 100', '', null, undefined, Number.NaN].map(parseVmid)).toEqual(
    Array.from({ length: 11 }, () => undefined),
  );
});

it('accepts node names without a dash at either end', () => {
  expect(['pve1', 'p', 'a-b', '1'].map(isNodeName)).toEqual([true, true, true, true]);
  expect(['', '-a', 'a-', 'a_b', 'a.b', 'a b'].map(isNodeName)).toEqual([false, false, false, false, false, false]);
});

it('accepts storage ids of two characters and more that start with a letter', () => {
  expect(['local', 'local-lvm', 'A.b_c', 's1'].map(isStorageId)).toEqual([true, true, true, true]);
  expect(['', 'a', '1a', 'a-', 'a b', 'a/b'].map(isStorageId)).toEqual([false, false, false, false, false, false]);
});

it('treats a wrong id from our own code as a bug', () => {
  expect(() => toVmid(1)).toThrow('not a VM id');
  expect(() => toNodeName('a b')).toThrow('not a node name');
  expect(() => toStorageId('a')).toThrow('not a storage id');
});

// A clone: the id is that of the source.
const CLONE = 'UPID:pve1:00012A3F:0001B2C4:6A3F1C20:qmclone:9000:root@pam!test:';

describe('parseUpid', () => {
  it('reads the parts', () => {
    expect(parseUpid(CLONE)).toEqual({
      node: 'pve1',
      pid: 0x12a3f,
      processStartTicks: 0x1b2c4,
      startTimeSeconds: 0x6a3f1c20,
      type: 'qmclone',
      id: '9000',
      user: 'root@pam!test',
    });
  });

  it('accepts nine digits of process start and an empty id', () => {
    expect(parseUpid('UPID:n:00000001:1FFFFFFFF:00000001:aptupdate::root@pam:')).toMatchObject({
      processStartTicks: 0x1ffffffff,
      id: '',
    });
  });

  it.each([
    '',
    CLONE.slice(0, -1),
    `${CLONE}\n`,
    CLONE.replace('UPID', 'upid'),
    CLONE.replace('00012A3F', '12A3F'),
    CLONE.replace('pve1', '-pve1'),
    CLONE.replace('9000', 'a/b'),
  ])('rejects %j', (text) => {
    expect(isUpid(text)).toBe(false);
  });
});

describe('printUpid', () => {
  it('returns the original text', () => {
    const parts = parseUpid(CLONE);
    expect(parts && printUpid(parts)).toBe(CLONE);
  });

  it('rejects parts that do not form a UPID', () => {
    const parts = parseUpid(CLONE);
    expect(() => parts && printUpid({ ...parts, type: 'a:b' })).toThrow('not a UPID');
  });
});

it('encodes ids with unusual characters for a path', () => {
  const upid = CLONE.replace('9000', '100-scsi0>101-scsi1%') as Upid;
  expect(encodeUpid(upid)).toContain('100-scsi0%3E101-scsi1%25');
});
