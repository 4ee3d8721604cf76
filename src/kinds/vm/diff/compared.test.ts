import { describe, expect, it } from 'vitest';
import { desiredConfig } from '../config/desired-config.ts';
import { vmFieldsSchema } from '../fields/index.ts';
import { observedVm } from '../testing/server.ts';
import { comparedFields } from './diff.ts';

const fields = vmFieldsSchema.parse({
  name: 'web',
  node: 'pve1',
  memory: '4GiB',
  cpu: { cores: 4 },
  nics: { net0: { bridge: 'vmbr0', vlan: 20 }, net1: {} },
});
const vm = observedVm(
  new Map([
    ['name', 'web'],
    ['memory', '2048'],
    ['cores', '4'],
    ['net0', 'virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20'],
    ['smbios1', 'uuid=11111111-2222-4333-8444-555555555555'],
  ]),
);

describe('the comparison of a VM with the file', () => {
  it('lists every field with its observed value, equal or not', () => {
    const compared = comparedFields(desiredConfig(fields, {}), vm, undefined);
    expect(compared.map(({ path, desired, observed, equal }) => [path, desired, observed, equal])).toEqual(
      expect.arrayContaining([
        ['name', 'web', 'web', true],
        ['memory', '4GiB', '2GiB', false],
        ['cpu.cores', 4, 4, true],
        ['nics.net0.bridge', 'vmbr0', 'vmbr0', true],
        ['nics.net0.vlan', 20, 20, true],
      ]),
    );
    expect(compared.filter(({ path }) => path === 'memory')).toHaveLength(1);
  });

  it('has a line for a missing device without fields', () => {
    const compared = comparedFields(desiredConfig(fields, {}), vm, undefined);
    expect(compared.filter(({ path }) => path === 'nics.net1')).toEqual([
      expect.objectContaining({ key: 'net1', equal: false }),
    ]);
  });

  it('marks what waits for a restart, and nothing else', () => {
    const waiting = observedVm(
      new Map([
        ['memory', '2048'],
        ['name', 'web'],
      ]),
      {
        running: true,
        pending: new Map([['memory', '4096']]),
      },
    );
    const some = vmFieldsSchema.parse({ name: 'web', node: 'pve1', memory: '4GiB' });
    const compared = comparedFields(desiredConfig(some, {}), waiting, undefined);
    expect(compared).toContainEqual({
      path: 'memory',
      key: 'memory',
      desired: '4GiB',
      observed: '4GiB',
      equal: true,
      restartPending: true,
    });
    expect(compared.filter(({ restartPending }) => restartPending).map(({ path }) => path)).toEqual(['memory']);
    expect(compared.filter(({ path }) => path === 'memory')).toHaveLength(1);
  });
});
