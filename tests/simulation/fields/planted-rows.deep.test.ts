/** A wrong row, one for each column, is found by the check that every row passes. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { FieldFacts } from '../../../src/kinds/fields/field.ts';

const FIELD_MODULE = '../../../src/kinds/fields/field.ts';

/** Loads everything again, with some columns of one row changed before anything is computed from them. */
async function withPlanted(wire: string, wrong: Planted['wrong']) {
  vi.resetModules();
  vi.doMock(FIELD_MODULE, async (original) => {
    const module = await original<typeof import('../../../src/kinds/fields/field.ts')>();
    const planted: typeof module.field = (schema, facts) =>
      module.field(schema, facts.wire?.join('.') === wire ? withoutUndefined({ ...facts, ...wrong }) : facts);
    return { ...module, field: planted };
  });
  return import('./row-problems.ts');
}

function withoutUndefined(facts: object): FieldFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as unknown as FieldFacts; // the same columns
}

afterEach(() => {
  vi.doUnmock(FIELD_MODULE);
  vi.resetModules();
});

interface Planted {
  readonly what: string;
  readonly path: string;
  /** Finds the row. */
  readonly wire: string;
  /** Columns that differ; undefined leaves one out. */
  readonly wrong: { readonly [Column in keyof FieldFacts]?: FieldFacts[Column] | undefined };
  /** What the check says. */
  readonly reason: string;
}

const PLANTED: readonly Planted[] = [
  {
    what: 'a key that Proxmox does not have',
    path: 'on_boot',
    wire: 'onboot',
    wrong: { wire: ['on_boot'] },
    reason: 'Proxmox has no key',
  },
  {
    what: 'the key of another field',
    path: 'cpu.cores',
    wire: 'cores',
    wrong: { wire: ['sockets'] },
    reason: 'bound to the same place',
  },
  {
    what: 'a key without a field that changes at another moment',
    path: 'on_boot',
    wire: 'onboot',
    wrong: { wire: ['autostart'] },
    reason: 'is restart, and the plan said live',
  },
  {
    what: 'a sub-key that Proxmox does not have',
    path: 'disks.*.aio',
    wire: 'drive.aio',
    wrong: { wire: ['drive', 'WRONG'] },
    reason: 'Proxmox has no WRONG in scsi0',
  },
  {
    what: 'a sub-key of another key',
    path: 'nics.*.vlan',
    wire: 'net.tag',
    wrong: { wire: ['net', 'order'] },
    reason: 'Proxmox has no order in net0',
  },
  {
    what: 'the sub-key of another field',
    path: 'agent.trim',
    wire: 'agent.fstrim_cloned_disks',
    wrong: { wire: ['agent', 'freeze-fs'] },
    reason: 'bound to the same place',
  },
  {
    what: 'words that the server refuses',
    path: 'cpu.flags',
    wire: 'cpu.flags',
    wrong: { words: 'blank-list' },
    reason: 'PARAMETER_REJECTED',
  },
  {
    what: 'a size with its unit',
    path: 'vga.memory',
    wire: 'vga.memory',
    wrong: { words: 'text' },
    reason: 'PARAMETER_REJECTED',
  },
  {
    what: 'words that do not read back',
    path: 'nics.*.mtu',
    wire: 'net.mtu',
    wrong: { words: 'text' },
    reason: 'reads 1400 from net',
  },
  {
    what: 'words of another unit',
    path: 'startup.up',
    wire: 'startup.up',
    wrong: { words: 'mebibytes' },
    reason: 'PARAMETER_REJECTED',
  },
  {
    what: 'an effect that is too early',
    path: 'disks.*.cache',
    wire: 'drive.cache',
    wrong: { effect: 'live' },
    reason: 'is restart, and the plan said live',
  },
  {
    what: 'an effect that is too late',
    path: 'disks.*.backup',
    wire: 'drive.backup',
    wrong: { effect: 'restart' },
    reason: 'is live, and the plan said restart',
  },
  {
    what: 'an effect without its condition',
    path: 'nics.*.mtu',
    wire: 'net.mtu',
    wrong: { effect: 'live' },
    reason: 'is restart, and the plan said live',
  },
  {
    what: 'an effect that forgets hotplug',
    path: 'memory',
    wire: 'memory.current',
    wrong: { effect: 'restart' },
    reason: 'is live, and the plan said restart',
  },
  {
    what: 'a disk option offered for CD drives',
    path: 'disks.*.detect_zeroes',
    wire: 'drive.detect_zeroes',
    wrong: { on: undefined },
    reason: 'whether a CD drive has detect_zeroes',
  },
  {
    what: 'an option of CD drives refused',
    path: 'disks.*.serial',
    wire: 'drive.serial',
    wrong: { on: 'disk' },
    reason: 'whether a CD drive has serial',
  },
  {
    what: 'a bus that lacks the option',
    path: 'disks.*.io_thread',
    wire: 'drive.iothread',
    wrong: { buses: ['ide', 'scsi', 'virtio'] },
    reason: 'whether ide has iothread',
  },
  {
    what: 'a bus too few',
    path: 'disks.*.ssd',
    wire: 'drive.ssd',
    wrong: { buses: ['scsi'] },
    reason: 'whether sata has ssd',
  },
  {
    what: 'a secret that is not marked',
    path: 'cloud_init.password',
    wire: 'cipassword',
    wrong: { secret: undefined },
    reason: 'secrecy is wrong',
  },
  {
    what: 'a public value marked as secret',
    path: 'cloud_init.user',
    wire: 'ciuser',
    wrong: { secret: true },
    reason: 'secrecy is wrong',
  },
  {
    what: 'a wrong default',
    path: 'bios',
    wire: 'bios',
    wrong: { serverDefault: 'ovmf' },
    reason: 'Proxmox assumes seabios',
  },
  {
    what: 'a missing default',
    path: 'disks.*.backup',
    wire: 'drive.backup',
    wrong: { serverDefault: undefined },
    reason: 'Proxmox assumes true',
  },
  {
    what: 'a release that is too early',
    path: 'vga.clipboard',
    wire: 'vga.clipboard',
    wrong: { since: undefined },
    reason: 'Proxmox has it since 8.1, the row says 8.0',
  },
  {
    what: 'a release that is too late',
    path: 'on_boot',
    wire: 'onboot',
    wrong: { since: '9.0' },
    reason: 'Proxmox has it since 8.0, the row says 9.0',
  },
  {
    what: 'a value without its release',
    path: 'efi.ms_cert',
    wire: 'efidisk0.ms-cert',
    wrong: { valuesSince: undefined },
    reason: 'later, the row says {}',
  },
  {
    what: 'a field of root for every token',
    path: 'hook_script',
    wire: 'hookscript',
    wrong: { rootOnly: undefined },
    reason: 'whether only root may set it is wrong',
  },
  {
    what: 'a field of every token for root alone',
    path: 'on_boot',
    wire: 'onboot',
    wrong: { rootOnly: true },
    reason: 'whether only root may set it is wrong',
  },
  {
    what: 'a limit beside one that Proxmox does not allow there',
    path: 'disks.*.limits.read_mbps',
    wire: 'drive.mbps_rd',
    wrong: { excludes: undefined },
    reason: 'Proxmox allows no bps_max_length, mbps, mbps_max beside it, the row says none',
  },
  {
    what: 'an exclusion that Proxmox does not have',
    path: 'usb.*.mapping',
    wire: 'usb.mapping',
    wrong: { excludes: ['usb3'] },
    reason: 'Proxmox allows no host beside it, the row says usb3',
  },
  {
    what: 'a list whose order matters, declared to have none',
    path: 'boot',
    wire: 'boot',
    wrong: { unordered: true },
    reason: 'the order of its elements matters',
  },
];

describe('a planted row', () => {
  it.each(PLANTED)('is found: $what', async ({ path, wire, wrong, reason }) => {
    const { rowProblems } = await withPlanted(wire, wrong);
    expect((await rowProblems(path)).join('\n')).toContain(reason);
  });

  it('passes if nothing is wrong with it', async () => {
    const { rowProblems } = await withPlanted('drive.aio', {});
    expect(await rowProblems('disks.*.aio')).toEqual([]);
  });
});
