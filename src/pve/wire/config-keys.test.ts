import { expect, it } from 'vitest';
import { allConfigKeys, describeConfigKey, formatOfKey } from './config-keys.ts';

it('describes concrete keys and knows their range', () => {
  expect(describeConfigKey('scsi30')?.name).toBe('scsi');
  expect(describeConfigKey('numa')?.kind).toBe('boolean');
  expect(describeConfigKey('numa0')?.kind).toBe('property');
  for (const key of ['scsi31', 'net32', 'net', 'net00', 'efidisk1', 'smbios2', 'constructor', '', '0']) {
    expect(describeConfigKey(key)).toBeUndefined();
  }
});

it('names every concrete key once and finds each of them', () => {
  const keys = allConfigKeys();
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.filter((key) => describeConfigKey(key) === undefined)).toEqual([]);
});

it('gives the format of property strings only', () => {
  expect(formatOfKey('net3')?.name).toBe('net');
  expect(formatOfKey('boot')?.name).toBe('boot');
  expect(formatOfKey('cores')).toBeUndefined();
});
