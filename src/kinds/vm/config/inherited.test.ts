import { describe, expect, it } from 'vitest';
import { vmFieldsSchema } from '../fields/index.ts';
import { CLOUD_TEMPLATE, RICH_TEMPLATE } from '../testing/vm-site.ts';
import { desiredConfig } from './desired-config.ts';
import { inheritedDevices } from './inherited.ts';

const desiredOf = (fields: object) => desiredConfig(vmFieldsSchema.parse({ name: 'web', node: 'pve1', ...fields }), {});

describe('inherited devices', () => {
  it('are the disks and NICs of the template that the stack does not mention', () => {
    const desired = desiredOf({ disks: { scsi0: { size: '100GiB' } }, nics: { net1: { remove: true } } });
    expect(inheritedDevices(desired, RICH_TEMPLATE.values)).toEqual([
      { key: 'ide2', kind: 'cdrom', summary: 'CD drive with local:iso/debian.iso' },
      { key: 'net0', kind: 'nic', summary: 'virtio on vmbr0' },
      { key: 'scsi1', kind: 'disk', summary: '8GiB on tank' },
      { key: 'virtio2', kind: 'disk', summary: '512MiB on tank' },
    ]);
  });

  it('do not include a cloud-init drive that the stack sets in another slot', () => {
    const keys = (fields: object) => inheritedDevices(desiredOf(fields), CLOUD_TEMPLATE.values).map(({ key }) => key);
    expect(keys({})).toContain('ide0');
    expect(keys({ cloud_init: { storage: 'tank' } })).not.toContain('ide0');
  });
});
