import { describe, expect, it } from 'vitest';
import { type FoundVm, families } from './families.ts';
import { groupLines, withDefaults } from './group-lines.ts';
import { leavesOf, type Tree, treeOf } from './shared-values.ts';

let next = 100;
const vm = (name: string, fields: Tree = {}, node = 'pve1'): FoundVm => {
  const vmid = next++;
  return { vmid, name, node, leaves: leavesOf({ name, vmid, node, ...fields }), inherited: new Set(), leftOut: [] };
};

const shapes = (vms: readonly FoundVm[], taken: string[] = []) =>
  families(vms, { taken }).map(({ key, members, series }) => [key, members.length, series?.numbers]);

describe('families of VMs', () => {
  it.each([
    ['names that count from 1', ['web-1', 'web-2', 'web-3'], [['web', 3, 'count']]],
    ['names with gaps', ['web-1', 'web-4'], [['web', 2, ['1', '4']]]],
    ['names with leading zeros', ['n01', 'n02'], [['n', 2, ['01', '02']]]],
    ['the first label of a host name', ['node1.lab.example', 'node2.lab.example'], [['node', 2, 'count']]],
    ['a number that only one has', ['db-1'], [['db-1', 1, undefined]]],
    [
      'the same name twice',
      ['web-1', 'web-1', 'web-2'],
      [
        ['web', 2, 'count'],
        ['web-1', 1, undefined],
      ],
    ],
    [
      'names that no key can have',
      ['1.2.3', '-x'],
      [
        ['vm', 1, undefined],
        ['x', 1, undefined],
      ],
    ],
  ])('are formed from %s', (_, names, expected) => {
    expect(shapes(names.map((name) => vm(name)))).toEqual(expected);
  });

  it('do not join VMs that have little in common', () => {
    const small = { cpu: { cores: 1 }, memory: '1GiB' };
    const large = {
      cpu: { cores: 8, type: 'host' },
      memory: '64GiB',
      bios: 'ovmf',
      machine: 'q35',
      agent: { enabled: true },
    };
    expect(shapes([vm('app-1', small), vm('app-2', small), vm('app-3', large)])).toEqual([
      ['app', 2, 'count'],
      ['app-3', 1, undefined],
    ]);
  });

  it('have keys that the file does not have yet', () => {
    expect(shapes([vm('web')], ['web', 'web-2'])).toEqual([['web-3', 1, undefined]]);
  });
});

describe('the lines of a group', () => {
  const family = (...vms: FoundVm[]) => {
    const [first] = families(vms);
    if (!first) throw new Error('there is a family');
    return groupLines(first);
  };

  it('hold what most members have; the others override it, and null removes what one lacks', () => {
    const { shared, overrides } = family(
      vm('a-1', { memory: '2GiB', tags: ['x'] }),
      vm('a-2', { memory: '2GiB', tags: ['x'] }),
      vm('a-3', { memory: '3GiB' }),
    );
    expect(treeOf(shared)).toEqual({ node: 'pve1', memory: '2GiB', tags: ['x'] });
    expect([...overrides].map(([number, own]) => [number, treeOf(own)])).toEqual([[3, { memory: '3GiB', tags: null }]]);
  });

  it('give addresses as a range or a list, and several nodes as a list', () => {
    const at = (address: string) => ({ nics: { net0: { ipv4: { address, gateway: '10.0.0.1' } } } });
    const inRow = family(vm('b-1', at('10.0.0.9/24')), vm('b-2', at('10.0.0.10/24'), 'pve2'));
    expect(treeOf(inRow.shared)).toEqual({
      nodes: ['pve1', 'pve2'],
      nics: { net0: { ipv4: { gateway: '10.0.0.1', addresses: '10.0.0.9-10.0.0.10/24' } } },
    });
    const apart = family(vm('b-1', at('10.0.0.9/24')), vm('b-2', at('10.0.0.20/24')));
    expect(apart.shared.get('nics.net0.ipv4.addresses')).toEqual(['10.0.0.9/24', '10.0.0.20/24']);
  });

  it('leave out what Proxmox assumes anyway, and MAC addresses', () => {
    const { shared } = family(
      vm('c', { cpu: { cores: 1, sockets: 1 }, nics: { net0: { mac: 'BC:24:11:00:00:01', bridge: 'vmbr0' } } }),
    );
    expect(treeOf(shared)).toEqual({ node: 'pve1', nics: { net0: { bridge: 'vmbr0' } } });
  });

  it('move what most groups have to the defaults, but no device that only some have', () => {
    const one = { memory: '2GiB', on_boot: true, disks: { scsi0: { size: '8GiB' }, scsi1: { size: '1GiB' } } };
    const { disks: _, ...rest } = one;
    const { defaults, groups } = withDefaults(
      [vm('x', one), vm('y', one), vm('z', { ...rest, memory: '4GiB', disks: { scsi0: { size: '8GiB' } } })].map(
        (each) => family(each),
      ),
    );
    expect(treeOf(defaults)).toEqual({
      node: 'pve1',
      memory: '2GiB',
      on_boot: true,
      disks: { scsi0: { size: '8GiB' } },
    });
    expect(groups.map(({ shared }) => treeOf(shared))).toEqual([
      { disks: { scsi1: { size: '1GiB' } } },
      { disks: { scsi1: { size: '1GiB' } } },
      { memory: '4GiB' },
    ]);
  });
});
