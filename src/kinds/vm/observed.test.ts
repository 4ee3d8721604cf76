import { describe, expect, it } from 'vitest';
import { errorOf, ok, testClient } from '../../pve/testing/client.ts';
import { effectiveValues, readVm } from './observed.ts';

const ENTRIES = [
  { key: 'digest', value: 'd1' },
  { key: 'cores', value: 2, pending: 4 },
  { key: 'memory', value: '2048' },
  { key: 'net1', value: 'virtio=BC:24:11:00:00:02', delete: 1 },
  { key: 'smbios1', value: 'uuid=11111111-2222-4333-8444-555555555555' },
  { key: 'template', value: 1 },
  { key: 'vga', pending: 'qxl' },
];

describe('reading a VM', () => {
  it('takes values, pending changes, digest and uuid from one answer', async () => {
    const { clock, transport, pve } = testClient(() => ok(ENTRIES));
    const vm = await clock.run(() => readVm(pve, 'pve1', 101, { running: true }));
    expect(vm).toMatchObject({ vmid: 101, node: 'pve1', digest: 'd1', running: true, template: true, lock: undefined });
    expect(vm.uuid).toBe('11111111-2222-4333-8444-555555555555');
    expect(vm.current.has('digest')).toBe(false);
    expect(Object.fromEntries(effectiveValues(vm))).toMatchObject({ cores: '4', memory: '2048', vga: 'qxl' });
    expect(effectiveValues(vm).has('net1')).toBe(false);
    expect(transport.lines().filter((line) => line.includes('/qemu/'))).toEqual(['GET /nodes/pve1/qemu/101/pending']);
  });

  it('does not accept a configuration without its digest', async () => {
    const { clock, pve } = testClient(() => ok([]));
    const error = await errorOf(clock, () => readVm(pve, 'pve1', 101, { running: false }));
    expect(error.code).toBe('BAD_ANSWER');
  });
});
