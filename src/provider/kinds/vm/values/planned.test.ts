import { describe, expect, it } from 'vitest';
import { type CtyObject, UNKNOWN } from '../../../cty/value.ts';
import { fromFields } from '../../../values/from-fields.ts';
import { VM_SHAPE, vmFieldAttributes } from '../shape.ts';
import { managedPaths, plannedAttributes } from './planned.ts';

const attributes = vmFieldAttributes();
const object = (tree: object) => fromFields({ name: 'web', node: 'pve1', ...tree }, attributes, VM_SHAPE);

function plan(config: object, prior: object, managed: readonly string[] = []): CtyObject {
  const wasManaged = (path: string) => managed.includes(path);
  return plannedAttributes({ attributes, config: object(config), prior: object(prior), wasManaged });
}

describe('a plan for an existing resource', () => {
  it('keeps the prior spelling if both mean the same', () => {
    const prior = { memory: '8192MiB', tags: ['b', 'a'], nics: { net0: { mac: 'BC:24:11:00:00:01', vlan: 5 } } };
    const config = { memory: '8GiB', tags: ['a', 'b'], nics: { net0: { mac: 'bc:24:11:00:00:01', vlan: 5 } } };
    expect(plan(config, prior)).toEqual(object(prior));
  });

  it('takes the new spelling if the meaning changes', () => {
    expect(plan({ memory: '9GiB' }, { memory: '8192MiB' }).memory).toBe('9GiB');
  });

  it('keeps an observed device that is not mentioned', () => {
    const prior = { disks: { scsi0: { size: '8GiB', ssd: true }, scsi1: { size: '1GiB' } } };
    expect(plan({ disks: { scsi0: { size: '8192MiB' } } }, prior)).toEqual(object(prior));
  });

  it('has only the configured devices if one of them changes or left the configuration', () => {
    const prior = { disks: { scsi0: { size: '8GiB', ssd: true }, scsi1: { size: '1GiB' } } };
    expect(plan({ disks: { scsi0: { size: '9GiB' } } }, prior)).toEqual(
      object({ disks: { scsi0: { size: '9GiB', ssd: true } } }),
    );
    expect(plan({ disks: { scsi0: { size: '8GiB' } } }, prior, ['disks.scsi1.size'])).toEqual(
      object({ disks: { scsi0: { size: '8GiB', ssd: true } } }),
    );
  });

  it('releases what left the configuration, and a group that becomes empty', () => {
    const prior = { memory: '8GiB', cpu: { cores: 2, sockets: 1 }, agent: { enabled: true } };
    expect(plan({}, prior, ['memory', 'cpu.cores', 'agent.enabled'])).toEqual(object({ cpu: { sockets: 1 } }));
    expect(plan({ cpu: { sockets: 1 } }, prior, ['cpu.cores']).cpu).toEqual(object({ cpu: { sockets: 1 } }).cpu);
  });

  it('keeps unknown values unknown', () => {
    const config: CtyObject = { ...object({}), memory: UNKNOWN, disks: UNKNOWN };
    const planned = plannedAttributes({
      attributes,
      config,
      prior: object({ memory: '8GiB' }),
      wasManaged: () => true,
    });
    expect([planned.memory, planned.disks]).toEqual([UNKNOWN, UNKNOWN]);
  });
});

describe('the managed paths of a configuration', () => {
  it('are its leaves, and groups that have none', () => {
    const config = {
      tags: ['a'],
      cpu: { cores: 2 },
      disks: { scsi0: { size: '1GiB', limits: { read_iops: 5 } } },
      nics: { net0: {}, net1: { ipv4: 'dhcp' } },
      extra: { kvm: false },
    };
    expect(managedPaths(attributes, object(config)).sort()).toEqual([
      'cpu.cores',
      'disks.scsi0.limits.read_iops',
      'disks.scsi0.size',
      'extra',
      'name',
      'nics.net0',
      'nics.net1.ipv4.address',
      'node',
      'tags',
    ]);
  });
});
