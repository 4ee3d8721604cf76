import { describe, expect, it } from 'vitest';
import {
  allConfigKeys,
  CONFIG_KEYS,
  type ConfigKey,
  decodeConfig,
  describeConfigKey,
  formatOfKey,
} from './config-keys.ts';

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

const namesOf = (is: (key: ConfigKey) => boolean) => CONFIG_KEYS.filter(is).map(({ name }) => name);

it('knows which keys are devices, so that an absent device never equals one at its defaults', () => {
  expect(namesOf(({ device }) => device === true).toSorted()).toEqual(
    [
      'amd-sev',
      'audio0',
      'cdrom',
      'efidisk0',
      'hostpci',
      'ide',
      'intel-tdx',
      'ivshmem',
      'net',
      'numa',
      'parallel',
    ].concat(['rng0', 'sata', 'scsi', 'serial', 'tpmstate0', 'usb', 'virtio', 'virtiofs', 'watchdog']),
  );
});

it('knows which values the server generates, hides, or limits', () => {
  expect(namesOf(({ generated }) => generated === 'always').toSorted()).toEqual(
    ['digest', 'lock', 'meta', 'parent', 'running-nets-host-mtu', 'runningcpu', 'runningmachine', 'snaptime'].concat([
      'unused',
      'vmstate',
    ]),
  );
  expect(namesOf(({ generated }) => generated === 'when-absent').toSorted()).toEqual([
    'boot',
    'machine',
    'smbios1',
    'vmgenid',
  ]);
  expect(namesOf(({ secret }) => secret === true)).toEqual(['cipassword']);
  expect(CONFIG_KEYS.filter(({ maximum }) => maximum !== undefined)).toEqual([describeConfigKey('cpuunits')]);
  expect(describeConfigKey('cpuunits')?.maximum).toBe(10_000);
});

it('knows which values have a grammar', () => {
  const kinds = ['uuid', 'description', 'tags', 'ssh-keys', 'hotplug', 'words', 'set', 'boot', 'drive'];
  expect(Object.fromEntries(kinds.map((kind) => [kind, namesOf((key) => key.kind === kind)]))).toEqual({
    uuid: ['vmgenid'],
    description: ['description'],
    tags: ['tags'],
    'ssh-keys': ['sshkeys'],
    hotplug: ['hotplug'],
    words: ['nameserver', 'searchdomain'],
    set: ['affinity'],
    boot: ['boot'],
    drive: ['cdrom', 'efidisk0', 'ide', 'sata', 'scsi', 'tpmstate0', 'virtio'],
  });
});

describe('decodeConfig', () => {
  it('separates the digest, converts numbers to text and keeps unknown keys', () => {
    const config = decodeConfig({
      memory: '256',
      cores: 2,
      cpulimit: '1.50',
      onboot: true,
      boot: ' ',
      description: 'a ',
      future: 'x',
      digest: 'abc',
      nothing: null,
    });
    expect(config.digest).toBe('abc');
    expect(Object.fromEntries(config.values)).toEqual({
      boot: '',
      cores: '2',
      cpulimit: '1.5',
      description: 'a ',
      future: 'x',
      memory: '256',
      onboot: '1',
    });
  });

  it('does not depend on the order of the response', () => {
    expect([...decodeConfig({ b: 1, a: 2 }).values]).toEqual([...decodeConfig({ a: 2, b: 1 }).values]);
  });

  it.each([[null], ['text'], [[]], [{ scsi0: {} }]])('rejects %j', (raw) => {
    expect(() => decodeConfig(raw)).toThrow('BAD_ANSWER');
  });
});

it('gives switches and numbers of an answer one spelling, and leaves texts alone', () => {
  const { values } = decodeConfig({
    onboot: 'yes',
    numa: false,
    tablet: 'maybe',
    cores: '04',
    cpulimit: '1.50',
    name: '04',
    ciuser: ' ',
    description: ' ',
    balloon: null,
  });
  expect(Object.fromEntries(values)).toEqual({
    onboot: '1',
    numa: '0',
    tablet: 'maybe',
    cores: '4',
    cpulimit: '1.5',
    name: '04',
    ciuser: '',
    description: ' ',
  });
});

it.each([
  ['no object', [], 'not an object'],
  ['a key that holds an object', { net0: {} }, 'net0'],
])('refuses an answer with %s, and says so', (_, raw, words) => {
  expect(() => decodeConfig(raw)).toThrow(words);
});
