import { describe, expect, it } from 'vitest';
import { isFamily, type ProxwrightError } from '../../base/errors.ts';
import { VIRTUAL_START } from '../../base/virtual-clock.ts';
import { loadWorld } from './load-world.ts';

const load = (text: string) => loadWorld(text, 'world.yaml', { now: VIRTUAL_START });

const SMALL = `
nodes:
  alpha: {memory: 8G}
storages:
  tank:
    type: zfspool
    volumes:
      - {name: vm-100-disk-0, size: 8G}
vms:
  100:
    config:
      name: web
      scsi0: tank:vm-100-disk-0,size=8G
`;

describe('a world file', () => {
  it('may be small', () => {
    const world = load(SMALL);
    expect(world.entryNode).toBe('alpha');
    expect(world.nodes.get('alpha')?.memoryBytes).toBe(8 * 1024 ** 3);
    expect(world.vms.get(100)?.config.current.get('name')).toBe('web');
    expect(world.storages.get('tank')?.volumes.get('alpha')?.has('vm-100-disk-0')).toBe(true);
  });

  it('may be JSON', () => {
    const world = load(JSON.stringify({ nodes: { one: {} }, vms: { 101: { config: { name: 'a' } } } }, null, '\t'));
    expect(world.vms.get(101)?.node).toBe('one');
  });

  it.each([
    ['nothing', '', '9.2.11', '9.2', '10.0.13'],
    ['a release', 'version: "8.4"\n', '8.4.1', '8.4', '9.2.0'],
    ['a release without quotes', 'version: 8.4\n', '8.4.1', '8.4', '9.2.0'],
    ['a point release', 'version: 8.4.14\n', '8.4.14', '8.4', '9.2.0'],
    ['details', 'version: { version: "8.2", qemu: 9.0.0 }\n', '8.2.2', '8.2', '9.0.0'],
  ])('with %s as its version is of that release', (_, text, version, release, qemu) => {
    expect(load(`${text}${SMALL}`).version).toMatchObject({ version, release, qemu, qemuPatched: true });
  });

  it.each([
    {
      what: 'a release that is not simulated',
      text: 'nodes:\n  alpha: {}\nversion: "7.4"\n',
      diagnostic: {
        code: 'BAD_VALUE',
        where: { line: 3 },
        detail: 'version: there is no simulated release "7.4"; known are 8.0, 8.1, 8.2, 8.3, 8.4, 9.0, 9.1, 9.2.',
      },
    },
    {
      what: 'an unknown field, with the field that was meant',
      text: 'nodes:\n  alpha: {}\nstroages: {}\n',
      diagnostic: {
        code: 'UNKNOWN_FIELD',
        where: { file: 'world.yaml', line: 3, column: 1 },
        detail: '"stroages" is not a field of the file.',
        hint: { text: 'Did you mean "storages"?' },
      },
    },
    {
      what: 'an unknown field deep inside',
      text: 'nodes:\n  alpha:\n    bridges:\n      vmbr0:\n        vlan-aware: true\n',
      diagnostic: {
        code: 'UNKNOWN_FIELD',
        where: { line: 5, column: 9 },
        detail: '"vlan-aware" is not a field of nodes.alpha.bridges.vmbr0.',
        hint: { text: 'Did you mean "vlan_aware"?' },
      },
    },
    {
      what: 'a size that is none',
      text: 'nodes:\n  alpha:\n    memory: 8 apples\n',
      diagnostic: { code: 'BAD_VALUE', where: { line: 3, column: 13 }, detail: expect.stringContaining('"8 apples"') },
    },
    {
      what: 'a disk on a storage that does not exist',
      text: SMALL.replace('scsi0: tank:', 'scsi0: tnak:'),
      diagnostic: { where: { line: 13 }, detail: 'vms.100.config.scsi0: there is no storage "tnak".' },
    },
    {
      what: 'a VM on a node that does not exist',
      text: SMALL.replace('    config:', '    node: beta\n    config:'),
      diagnostic: { where: { line: 11 }, detail: 'vms.100.node: there is no node "beta".' },
    },
    {
      what: 'a key given twice',
      text: 'nodes:\n  alpha: {}\n  alpha: {}\n',
      diagnostic: { where: { line: 3 }, detail: expect.stringContaining('must be unique') },
    },
    {
      what: 'a volume listed twice',
      text: SMALL.replace(/( +- \{name.*\n)/, '$1$1'),
      diagnostic: { where: { line: 9 }, detail: 'storages.tank.volumes: "vm-100-disk-0" is listed twice.' },
    },
    {
      what: 'text that is not YAML',
      text: 'nodes:\n  alpha: {memory: [8G}\n',
      diagnostic: { where: { line: 2 }, detail: expect.stringContaining('This is not valid YAML') },
    },
    {
      what: 'an alias without an anchor',
      text: 'nodes: *nothing\n',
      diagnostic: { code: 'BAD_VALUE', detail: expect.stringContaining('nothing') },
    },
    {
      what: 'an empty file',
      text: '',
      diagnostic: { where: { file: 'world.yaml' }, detail: expect.stringContaining('nodes') },
    },
    {
      what: 'a file without nodes',
      text: 'nodes: {}\n',
      diagnostic: { detail: 'nodes: a world needs at least one node.' },
    },
    { what: 'something else altogether', text: '- 1\n- 2\n', diagnostic: { code: 'BAD_VALUE' } },
    {
      what: 'a role that does not exist',
      text: 'nodes: {a: {}}\nacl:\n  - {path: /, role: Boss, user: root@pam}\n',
      diagnostic: { where: { line: 3 }, detail: 'acl.0.role: there is no role "Boss".' },
    },
  ])('is refused for $what', ({ text, diagnostic }) => {
    expect(complaint(text)).toMatchObject({ severity: 'error', ...diagnostic });
  });

  it('is refused with all its problems at once', () => {
    const { detail } = complaint('nodes:\n  alpha: {cpus: 0}\nusers:\n  a@pve: {enable: 7}\n');
    expect(detail.split('\n')).toHaveLength(2);
    expect(detail).toContain('Line 4: users.a@pve.enable');
  });
});

function complaint(text: string): ProxwrightError['diagnostic'] {
  try {
    load(text);
  } catch (error) {
    if (isFamily(error, 'spec')) return error.diagnostic;
    throw error;
  }
  throw new Error('nothing was complained about');
}
