/**
 * A random VM, written as bpg would have it, converted, and read as a stack: the same fields, and the same plan on a cluster
 * that does not have the VM and on one that has another VM in its place. Only fields that bpg can express take part; they are
 * counted, so that the test cannot become empty.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { vmAddress } from '../../src/base/address.ts';
import { fieldsOf } from '../../src/cli/commands/convert.ts';
import { convertFiles, stackOf } from '../../src/convert/index.ts';
import type { ResolvedStack } from '../../src/kinds/stack.ts';
import { type VmFields, vmFieldsSchema } from '../../src/kinds/vm/fields/index.ts';
import { bareVm } from '../../src/kinds/vm/stack.ts';
import { vmFieldsArbitrary } from '../../src/kinds/vm/testing/arbitrary-vm.ts';
import { RICH_TEMPLATE } from '../../src/kinds/vm/testing/vm-site.ts';
import { driftWorld, VM_SITES } from '../simulation/engine/support/drift-world.ts';
import { stackOf as resolvedOf, StackScene } from '../simulation/support/stack-scene.ts';
import { byDepth } from '../support/depth.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

type Fields = Readonly<Record<string, unknown>>;
const record = (value: unknown): Fields => (value ?? {}) as Fields;

/** `names` of an object: theirs by ours. */
function renamed(fields: Fields, names: Readonly<Record<string, string>>): [Fields, string[]] {
  const kept = Object.entries(names).filter(([ours]) => fields[ours] !== undefined);
  return [
    Object.fromEntries(kept.map(([ours]) => [ours, fields[ours]])),
    kept.map(([ours, theirs]) => `${theirs} = ${JSON.stringify(fields[ours])}`),
  ];
}

const block = (type: string, lines: readonly string[]): string => `${type} {\n${lines.join('\n')}\n}`;

const DISK = {
  storage: 'datastore_id',
  cache: 'cache',
  aio: 'aio',
  ssd: 'ssd',
  io_thread: 'iothread',
  backup: 'backup',
  replicate: 'replicate',
  serial: 'serial',
  format: 'file_format',
};
const NIC = {
  bridge: 'bridge',
  model: 'model',
  mac: 'mac_address',
  firewall: 'firewall',
  mtu: 'mtu',
  queues: 'queues',
  rate: 'rate_limit',
  link_down: 'disconnected',
};
const CPU = {
  cores: 'cores',
  sockets: 'sockets',
  type: 'type',
  flags: 'flags',
  limit: 'limit',
  units: 'units',
  numa: 'numa',
  vcpus: 'hotplugged',
};
const PCI = { mapping: 'mapping', device: 'id', mdev: 'mdev', pcie: 'pcie', rom_bar: 'rombar', primary_gpu: 'xvga' };
const TOP = {
  name: 'name',
  node: 'node_name',
  description: 'description',
  tags: 'tags',
  bios: 'bios',
  on_boot: 'on_boot',
  protection: 'protection',
  tablet: 'tablet_device',
  scsi_controller: 'scsi_hardware',
  boot: 'boot_order',
  acpi: 'acpi',
  keyboard: 'keyboard_layout',
};

/** What bpg can say of a VM, and how it says it. */
function asBpg(vm: VmFields): { readonly expected: Fields; readonly text: string } {
  const { boot, ...others } = record(vm);
  // Some devices are not written, and no boot order may name them.
  const written = [
    ...Object.keys(record(others.disks)),
    ...Object.keys(record(others.nics)).map((_, index) => `net${index}`),
  ];
  const isWritten = Array.isArray(boot) && boot.every((device) => written.includes(String(device)));
  const fields: Fields = { ...others, ...(isWritten && { boot }) };
  const [top, lines] = renamed(fields, TOP);
  const expected: Record<string, unknown> = { ...top };
  const memory = fields.memory;
  if (typeof memory === 'number') {
    expected.memory = memory;
    const balloon =
      fields.balloon === false ? 0 : typeof fields.balloon === 'number' ? fields.balloon / MIB : undefined;
    if (balloon !== undefined) expected.balloon = fields.balloon;
    lines.push(
      block('memory', [`dedicated = ${memory / MIB}`, ...(balloon === undefined ? [] : [`floating = ${balloon}`])]),
    );
  }
  const [cpu, cpuLines] = renamed(record(fields.cpu), CPU);
  if (cpuLines.length > 0) {
    expected.cpu = cpu;
    lines.push(block('cpu', cpuLines));
  }
  const disks: Record<string, Fields> = {};
  for (const [slot, given] of Object.entries(record(fields.disks))) {
    const disk = record(given);
    if (disk.remove !== undefined || disk.iso !== undefined) continue;
    const [same, diskLines] = renamed(disk, DISK);
    const size = typeof disk.size === 'number' && disk.size % GIB === 0 ? disk.size : undefined;
    disks[slot] = {
      // What bpg sets where nothing is said.
      storage: 'local-lvm',
      size: 8 * GIB,
      ...same,
      ...(size !== undefined && { size }),
      ...(disk.discard !== undefined && { discard: disk.discard }),
    };
    if (size !== undefined) diskLines.push(`size = ${size / GIB}`);
    if (disk.discard !== undefined) diskLines.push(`discard = "${disk.discard ? 'on' : 'ignore'}"`);
    lines.push(block('disk', [`interface = "${slot}"`, ...diskLines]));
  }
  if (Object.keys(disks).length > 0) expected.disks = disks;
  const nics: Record<string, Fields> = {};
  for (const [index, given] of Object.values(record(fields.nics)).entries()) {
    const nic = record(given);
    if (nic.remove !== undefined) break;
    const [same, nicLines] = renamed(nic, NIC);
    const vlan = typeof nic.vlan === 'number' ? nic.vlan : undefined;
    const trunks = Array.isArray(nic.trunks) && nic.trunks.length > 0 ? nic.trunks : undefined;
    nics[`net${index}`] = { bridge: 'vmbr0', ...same, ...(vlan !== undefined && { vlan }), ...(trunks && { trunks }) };
    if (vlan !== undefined) nicLines.push(`vlan_id = ${vlan}`);
    if (trunks) nicLines.push(`trunks = "${trunks.join(';')}"`);
    lines.push(block('network_device', nicLines));
  }
  if (Object.keys(nics).length > 0) expected.nics = nics;
  const pci: Record<string, Fields> = {};
  for (const [slot, given] of Object.entries(record(fields.pci))) {
    const [same, pciLines] = renamed(record(given), PCI);
    pci[slot] = same;
    lines.push(block('hostpci', [`device = "${slot}"`, ...pciLines]));
  }
  if (Object.keys(pci).length > 0) expected.pci = pci;
  return { expected, text: `resource "proxmox_virtual_environment_vm" "generated" {\n${lines.join('\n')}\n}\n` };
}

/** The one VM of the stack that a configuration of bpg becomes. */
function convertedVm(text: string): unknown {
  const { changed, findings } = convertFiles(new Map([['main.tf', text]]));
  expect(findings).toEqual([]);
  const { text: stack, findings: left } = stackOf({ files: changed, name: 'lab', fieldsOf });
  expect(left).toEqual([]);
  return (parse(stack) as { vms: { generated: unknown } }).vms.generated;
}

const ADDRESS = vmAddress('generated');

/** No disk of the VM before is larger. */
function withLargeDisks(vm: VmFields): VmFields {
  const disks = Object.entries(vm.disks ?? {}).map(([slot, disk], index) => {
    const isDisk = disk.remove === undefined && disk.iso === undefined;
    return [slot, isDisk ? { ...disk, size: (64 + index) * GIB } : disk] as const;
  });
  return { ...vm, ...(disks.length > 0 && { disks: Object.fromEntries(disks) }) };
}

function stackWith(fields: unknown, vmid: number): ResolvedStack {
  const parsed = vmFieldsSchema.parse({ ...record(fields), vmid, power: 'stopped' });
  return { ...resolvedOf('vms: {}'), vms: [bareVm(ADDRESS, parsed)] };
}

/** All that is shown and done, or why there is no plan. Nothing in it is drawn at random. */
async function planned(lab: StackScene, stack: ResolvedStack): Promise<unknown> {
  try {
    const { changes, steps } = await lab.plan(stack);
    return JSON.parse(JSON.stringify({ changes, steps }));
  } catch (error) {
    return { refused: String(error) };
  }
}

describe('a random VM, written for bpg and converted', () => {
  it('has the same plan, as a new VM and in the place of another one', async () => {
    const seen = { plans: 0, updates: 0, refused: 0 };
    for (let seed = 1; seed <= byDepth(6, 30, 300); seed++) {
      const lab = new StackScene([], driftWorld);
      await lab.run(async () => {
        const site = VM_SITES[seed % VM_SITES.length];
        if (!site) return;
        const [other, ...drawn] = fc.sample(vmFieldsArbitrary(site), { numRuns: 5, seed });
        const origin = { clone: other?.clone };
        const made =
          other &&
          (await lab.apply(stackWith({ ...printable(asBpg(other).expected), ...origin }, 801)).then(
            () => true,
            () => false,
          ));
        for (const vm of drawn) {
          const { expected, text } = asBpg(withLargeDisks(vm));
          if (/[$%]\{/.test(text)) continue;
          const converted = convertedVm(text);
          for (const vmid of made ? [801, 802] : [802]) {
            const plan = await planned(lab, stackWith({ ...printable(expected), ...origin }, vmid));
            expect(await planned(lab, stackWith({ ...record(converted), ...origin }, vmid))).toEqual(plan);
            const isPlan = !('refused' in record(plan));
            seen.plans += 1;
            seen.refused += isPlan ? 0 : 1;
            seen.updates += isPlan && vmid === 801 ? 1 : 0;
          }
        }
      });
    }
    expect(seen.plans - seen.refused).toBeGreaterThan(seen.plans / 2);
    expect(seen.updates).toBeGreaterThan(0);
  });

  it('has the same fields', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(vmFieldsArbitrary(RICH_TEMPLATE), (vm) => {
        const { expected, text } = asBpg(vm);
        // A dollar sign before a brace is an interpolation in HCL.
        fc.pre(!/[$%]\{/.test(text));
        const entry = convertedVm(text);
        expect(vmFieldsSchema.parse(entry)).toEqual(vmFieldsSchema.parse(printable(expected)));
        for (const path of pathsOf(expected)) seen.add(path);
      }),
      { numRuns: 60 },
    );
    expect([...seen].filter((path) => /^(disks|nics|cpu|pci)\./.test(path)).length).toBeGreaterThan(25);
  });
});

/** As a person writes it in a stack file: sizes with a unit. */
function printable(fields: Fields): Fields {
  const size = (value: unknown) => (typeof value === 'number' ? `${value / MIB}MiB` : value);
  const disks = Object.entries(record(fields.disks)).map(([slot, disk]) => {
    const given = record(disk);
    return [slot, { ...given, ...(given.size !== undefined && { size: size(given.size) }) }] as const;
  });
  return {
    ...fields,
    ...(fields.memory !== undefined && { memory: size(fields.memory) }),
    ...(fields.balloon !== undefined && { balloon: size(fields.balloon) }),
    ...(disks.length > 0 && { disks: Object.fromEntries(disks) }),
  };
}

function pathsOf(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [path];
  return Object.entries(value).flatMap(([name, each]) => pathsOf(each, path === '' ? name : `${path}.${name}`));
}
