import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { field } from '../../kinds/fields/field.ts';
import { type CtyObject, Decimal, UNKNOWN } from '../cty/value.ts';
import { VM_SHAPE, vmFieldAttributes } from '../kinds/vm/shape.ts';
import { attributesOfFields } from '../schema/from-fields.ts';
import { groupShape } from '../schema/shape.ts';
import { fromFields } from './from-fields.ts';
import { toFields } from './to-fields.ts';

const treeOf = (object: CtyObject) => toFields(object, VM_SHAPE).tree;

describe('the fields behind the host’s values', () => {
  it.each<[string, CtyObject, object]>([
    ['nothing for null', { name: 'web', memory: null, cpu: { cores: null } }, { name: 'web', cpu: {} }],
    ['0 for no VLAN', { nics: { net0: { vlan: 0 } } }, { nics: { net0: { vlan: false } } }],
    ['a VLAN', { nics: { net0: { vlan: 20 } } }, { nics: { net0: { vlan: 20 } } }],
    ['none for no balloon', { balloon: 'none' }, { balloon: false }],
    ['none for an empty drive', { disks: { ide2: { iso: 'none' } } }, { disks: { ide2: { iso: false } } }],
    ['none if it is a valid value', { disks: { scsi0: { cache: 'none' } } }, { disks: { scsi0: { cache: 'none' } } }],
    ['a keyword', { nics: { net0: { ipv4: { address: 'dhcp' } } } }, { nics: { net0: { ipv4: 'dhcp' } } }],
    [
      'an address',
      { nics: { net0: { ipv4: { address: '10.0.0.5/24', gateway: null } } } },
      { nics: { net0: { ipv4: { address: '10.0.0.5/24' } } } },
    ],
    ['a removal', { disks: { scsi1: { remove: true } } }, { disks: { scsi1: { remove: true } } }],
    ['no removal', { disks: { scsi1: { remove: false } } }, { disks: { scsi1: {} } }],
    ['a template by id', { clone: { template: '9000' } }, { clone: { template: 9000 } }],
    ['a template by name', { clone: { template: 'debian-12' } }, { clone: { template: 'debian-12' } }],
    [
      'where a secret is found',
      { cloud_init: { password: { env: null, file: null, command: ['pass', 'show'] } } },
      { cloud_init: { password: { command: ['pass', 'show'] } } },
    ],
    ['commands', { ready: { exec: [['true'], ['id', '-u']] } }, { ready: { exec: [['true'], ['id', '-u']] } }],
    ['raw keys', { extra: { kvm: 'false', args: 'toString' } }, { extra: { kvm: false, args: 'toString' } }],
    ['nothing for attributes that are not fields', { id: 'x', timeouts: { clone: '1m' } }, {}],
  ])('say %s', (_, object, tree) => {
    expect(treeOf(object)).toEqual(tree);
  });

  it('leave out and list what is unknown', () => {
    const { tree, unknown } = toFields(
      {
        name: UNKNOWN,
        disks: UNKNOWN,
        boot: ['scsi0', UNKNOWN],
        cpu: { cores: UNKNOWN, sockets: 1 },
        nics: { net0: { ipv4: { address: UNKNOWN, gateway: '10.0.0.1' } } },
      },
      VM_SHAPE,
    );
    expect(tree).toEqual({ cpu: { sockets: 1 }, nics: { net0: {} } });
    expect(unknown).toEqual(['name', 'cpu.cores', 'disks', 'nics.net0.ipv4', 'boot']);
  });

  it('refuse numbers that are not exact here', () => {
    const { tree, problems } = toFields(
      { vmid: 2n ** 70n, cpu: { limit: new Decimal('0.1000000000000000000001') } },
      VM_SHAPE,
    );
    expect(tree).toEqual({ cpu: {} });
    expect(problems.map(({ path }) => path)).toEqual(['vmid', 'cpu.limit']);
  });

  it('refuse a gateway beside a keyword', () => {
    const { problems } = toFields({ nics: { net0: { ipv4: { address: 'dhcp', gateway: '10.0.0.1' } } } }, VM_SHAPE);
    expect(problems).toEqual([
      { path: 'nics.net0.ipv4.gateway', detail: '"gateway" cannot be set together with address = "dhcp".' },
    ]);
  });
});

describe('an object of the schema', () => {
  const attributes = vmFieldAttributes();

  it('has every attribute, and reads back as the same fields', () => {
    const tree = {
      name: 'web',
      node: 'pve1',
      clone: { template: 9000 },
      balloon: false,
      tags: ['a'],
      disks: { ide2: { iso: false }, scsi0: { size: '8GiB', limits: { read_mbps: 1.5 } } },
      nics: { net0: { vlan: false, ipv4: 'dhcp', ipv6: { address: 'fd00::1/64' } } },
      serial: { serial0: 'socket' },
      cloud_init: { user_data: { text: '#!/bin/sh' }, meta_data: { command: ['pass', 'meta'] } },
      ready: { exec: [['true']] },
      extra: { kvm: false, shares: 1000 },
    };
    const object = fromFields(tree, attributes, VM_SHAPE);
    expect(Object.keys(object)).toEqual(Object.keys(attributes));
    expect(object.memory).toBeNull();
    expect(object.balloon).toBe('none');
    expect(toFields(object, VM_SHAPE).tree).toEqual({ ...tree, extra: { kvm: false, shares: '1000' } });
  });

  it('keeps names that JavaScript finds special', () => {
    const object = fromFields({ extra: JSON.parse('{"__proto__":"x"}') }, attributes, VM_SHAPE);
    expect(Object.entries(object.extra as CtyObject)).toEqual([['__proto__', 'x']]);
  });
});

describe('a group that can be switched off', () => {
  const inner = z.strictObject({ level: field(z.number(), { description: 'Level.', effect: 'live' }) });
  const table = z.strictObject({ ha: z.union([z.literal(false), inner]).optional() });
  const [shape, attributes] = [groupShape(table), attributesOfFields(table)];

  it.each<[CtyObject, object]>([
    [{ ha: { enabled: false, level: null } }, { ha: false }],
    [{ ha: { enabled: true, level: 3 } }, { ha: { level: 3 } }],
    [{ ha: null }, {}],
  ])('is written and read: %j', (object, tree) => {
    expect(toFields(object, shape).tree).toEqual(tree);
    expect(fromFields(tree as Record<string, unknown>, attributes, shape)).toEqual(object);
  });

  it('is on by default, and unknown if its switch is', () => {
    expect(toFields({ ha: { enabled: null, level: 3 } }, shape).tree).toEqual({ ha: { level: 3 } });
    expect(toFields({ ha: { enabled: UNKNOWN, level: 3 } }, shape).unknown).toEqual(['ha']);
  });
});
