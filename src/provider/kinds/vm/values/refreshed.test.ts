import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { objectOf } from '../../../cty/value.ts';
import { fromFields } from '../../../values/from-fields.ts';
import { arbitraryObject } from '../../../values/testing/arbitrary-objects.ts';
import { VM_SHAPE, vmFieldAttributes } from '../shape.ts';
import { refreshedAttributes } from './refreshed.ts';

const attributes = vmFieldAttributes();
const object = (tree: object) => fromFields({ name: 'web', node: 'pve1', ...tree }, attributes, VM_SHAPE);
const refresh = (state: object, actual: object, differing: readonly string[]) =>
  refreshedAttributes({ state: object(state), actual: object(actual), differing });

describe('a refreshed VM', () => {
  it('keeps the spelling of the state if nothing differs, whatever else it has', () => {
    const any = arbitraryObject(attributes, { unknowns: false, computed: false });
    fc.assert(
      fc.property(any, any, (state, actual) => {
        expect(refreshedAttributes({ state, actual, differing: [] })).toEqual(state);
      }),
      { numRuns: 50 },
    );
  });

  it('shows exactly what differs', () => {
    const state = { memory: '8192MiB', cpu: { cores: 4, sockets: 1 }, nics: { net0: { bridge: 'vmbr0', vlan: 5 } } };
    const actual = { memory: '9GiB', cpu: { cores: 2 }, nics: { net0: { bridge: 'vmbr1' }, net1: { bridge: 'x' } } };
    expect(refresh(state, actual, ['memory', 'cpu.cores', 'nics.net0.vlan'])).toEqual(
      object({ memory: '9GiB', cpu: { cores: 2, sockets: 1 }, nics: { net0: { bridge: 'vmbr0' } } }),
    );
  });

  it('loses a device or group that no longer exists', () => {
    const state = {
      disks: { scsi0: { size: '1GiB' }, scsi1: { size: '1GiB' } },
      rng: '/dev/random',
      vga: { type: 'std' },
    };
    const differing = ['disks.scsi1.size', 'vga.type'];
    expect(refresh(state, { disks: { scsi0: { size: '1GiB' } } }, differing)).toEqual(
      object({ disks: { scsi0: { size: '1GiB' } }, rng: '/dev/random' }),
    );
  });

  it('keeps a removal that has been done, and notices one that was undone', () => {
    const state = { disks: { scsi1: { remove: true } } };
    expect(refresh(state, {}, [])).toEqual(object(state));
    expect(refresh(state, { disks: { scsi1: { size: '1GiB' } } }, ['disks.scsi1.remove'])).toEqual(
      object({ disks: { scsi1: {} } }),
    );
  });

  it('keeps what is set only at creation, and shows a disk that was moved', () => {
    const state = { clone: { template: 'debian' }, disks: { scsi0: { storage: 'a', size: '1GiB' } } };
    const actual = { disks: { scsi0: { storage: 'b', size: '2GiB' } } };
    expect(refresh(state, actual, ['disks.scsi0.storage', 'disks.scsi0.size'])).toEqual(
      object({ clone: { template: 'debian' }, disks: { scsi0: { storage: 'b', size: '2GiB' } } }),
    );
  });

  it('shows an address that became a keyword', () => {
    const state = { nics: { net0: { ipv4: { address: '10.0.0.5/24', gateway: '10.0.0.1' } } } };
    const differing = ['nics.net0.ipv4.address', 'nics.net0.ipv4.gateway'];
    expect(refresh(state, { nics: { net0: { ipv4: 'dhcp' } } }, differing)).toEqual(
      object({ nics: { net0: { ipv4: 'dhcp' } } }),
    );
  });

  it('changes single raw keys and whole lists', () => {
    const state = { extra: { kvm: '0', acpi: '1' }, boot: ['scsi0', 'net0'] };
    expect(refresh(state, { extra: { acpi: '0' }, boot: ['net0'] }, ['extra.kvm', 'extra.acpi', 'boot'])).toEqual(
      object({ extra: { acpi: '0' }, boot: ['net0'] }),
    );
  });

  it('leaves attributes alone that are not fields', () => {
    const state = objectOf([...Object.entries(object({})), ['id', 'x']]);
    expect(refreshedAttributes({ state, actual: object({}), differing: ['id'] }).id).toBe('x');
  });
});
