import { expect, it } from 'vitest';
import { isNodeName, isStorageId, parseVmid, toNodeName, toStorageId, toVmid } from './ids.ts';

it('takes VM ids from 100 to 999999999, as numbers or digits', () => {
  expect([100, 999999999, '100', '999999999'].map(parseVmid)).toEqual([100, 999999999, 100, 999999999]);
  expect([99, 1e9, 100.5, '99', '0100', '1e3', ' 100', '', null, undefined, Number.NaN].map(parseVmid)).toEqual(
    Array.from({ length: 11 }, () => undefined),
  );
});

it('takes node names without a dash at either end', () => {
  expect(['pve1', 'p', 'a-b', '1'].map(isNodeName)).toEqual([true, true, true, true]);
  expect(['', '-a', 'a-', 'a_b', 'a.b', 'a b'].map(isNodeName)).toEqual([false, false, false, false, false, false]);
});

it('takes storage ids of two characters and more that start with a letter', () => {
  expect(['local', 'local-lvm', 'A.b_c', 's1'].map(isStorageId)).toEqual([true, true, true, true]);
  expect(['', 'a', '1a', 'a-', 'a b', 'a/b'].map(isStorageId)).toEqual([false, false, false, false, false, false]);
});

it('treats a wrong id from our own code as a bug', () => {
  expect(() => toVmid(1)).toThrow('not a VM id');
  expect(() => toNodeName('a b')).toThrow('not a node name');
  expect(() => toStorageId('a')).toThrow('not a storage id');
});
