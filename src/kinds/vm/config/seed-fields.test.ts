import { describe, expect, it } from 'vitest';
import { Secret } from '../../../base/secret.ts';
import { diffVm } from '../diff/diff.ts';
import { type VmFields, vmFieldsSchema } from '../fields/index.ts';
import type { VmObserved } from '../observed.ts';
import { appliedValues } from './desired.ts';
import { desiredConfig } from './desired-config.ts';
import { packDesired, unpackDesired, withoutSeed } from './packed.ts';
import { configureWrites } from './writes.ts';

const FILE = 'local:iso/proxwright-web-0123456789abcdef.iso';
const OTHER = 'local:iso/proxwright-web-fedcba9876543210.iso';

function fieldsWith(part: object = {}): VmFields {
  return vmFieldsSchema.parse({
    name: 'web',
    node: 'pve1',
    guest: 'cloud-init',
    nics: { net0: { bridge: 'vmbr0', ipv4: { address: '10.0.0.5/24', gateway: '10.0.0.1' } } },
    cloud_init: { storage: 'local', user: 'deploy', user_data: { text: '#cloud-config\n' } },
    ...part,
  });
}

function desiredOf(fields: VmFields, seed: { slot?: string; file?: string; digest?: string; displaced?: string } = {}) {
  const { slot = 'ide2', file = FILE, digest = 'd1', displaced } = seed;
  return desiredConfig(fields, { seed: { slot, file, digest, displaced } });
}

function observed(current: Record<string, string>): VmObserved {
  return {
    vmid: 101,
    node: 'pve1',
    uuid: 'u',
    digest: 'x',
    current: new Map(Object.entries(current)),
    pending: new Map(),
    pendingDeletes: new Set(),
    running: false,
    lock: undefined,
    template: false,
  };
}

const STANDING = { name: 'web', net0: 'virtio=BC:24:11:00:00:01,bridge=vmbr0', ide2: `${FILE},media=cdrom` };

describe('custom cloud-init files', () => {
  it('are the only configuration of the guest', () => {
    expect([...desiredOf(fieldsWith()).keys()].sort()).toEqual(['ide2', 'name', 'net0']);
  });

  it('replace Proxmox’s own drive, in its slot or in another', () => {
    const values = observed({ ...STANDING, ide2: 'tank:vm-101-cloudinit,media=cdrom' });
    expect(configureWrites(desiredOf(fieldsWith()).values(), values)).toEqual([
      { set: { ide2: `${FILE},media=cdrom` }, delete: [], destroysVolumes: false, touchesDrives: true },
    ]);
    const displaced = observed({ ...STANDING, ide2: 'none,media=cdrom', ide0: 'tank:vm-101-cloudinit,media=cdrom' });
    const [write] = configureWrites(desiredOf(fieldsWith(), { displaced: 'ide0' }).values(), displaced);
    expect(write?.delete).toEqual(['ide0']);
  });

  it('are shown as a change of the fields that changed, and of nothing else', () => {
    const last = appliedValues(desiredOf(fieldsWith()));
    const moved = fieldsWith({
      nics: { net0: { bridge: 'vmbr0', ipv4: { address: '10.0.0.6/24', gateway: '10.0.0.1' } } },
    });
    const { differences } = diffVm(desiredOf(moved, { file: OTHER }), observed(STANDING), last);
    expect(differences.map(({ path, before, after, by }) => [path, before, after, by])).toEqual([
      ['nics.net0.ipv4.address', '10.0.0.5/24', '10.0.0.6/24', 'file'],
    ]);
    const rewritten = diffVm(desiredOf(fieldsWith(), { file: OTHER, digest: 'd2' }), observed(STANDING), last);
    expect(rewritten.differences.map(({ path, after, by, secret }) => [path, after, by, secret])).toEqual([
      ['cloud_init.user_data', '•••', 'file', true],
    ]);
  });

  it('that another client removed are restored', () => {
    const last = appliedValues(desiredOf(fieldsWith()));
    const { differences } = diffVm(desiredOf(fieldsWith()), observed({ ...STANDING, ide2: 'none,media=cdrom' }), last);
    expect(differences.map(({ path, by }) => [path, by])).toEqual([['cloud_init.user_data', 'others']]);
  });

  it('are no difference if they are in their drive', () => {
    const desired = desiredOf(fieldsWith());
    expect(diffVm(desired, observed(STANDING), appliedValues(desired)).differences).toEqual([]);
  });

  it('have the volume name from the step that uploaded them, whatever the plan expected', () => {
    const packed = packDesired(desiredOf(fieldsWith()).values());
    expect(JSON.stringify(packed)).not.toContain('#cloud-config');
    const known = { stack: 's', address: 'vm.web', vmid: 101, uuid: 'u', secret: () => new Secret('') };
    const [drive] = unpackDesired(packed, { ...known, seedVolume: OTHER }).filter(({ key }) => key === 'ide2');
    expect(drive?.desired).toMatchObject({ kind: 'cdrom', file: OTHER });
    expect(withoutSeed(packed).map(({ key }) => key)).not.toContain('ide2');
  });
});
