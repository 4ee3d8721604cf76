/**
 * Keys that other tools cannot set, one VM with all of them: each has a row, an attribute in Terraform and a privilege in the
 * list of what the stack needs; a VM made with them has nothing left to plan; changed while it runs, each takes effect when
 * Proxmox says; and `import` reads each of them back.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { valueAt } from '../../../src/kinds/fields/field-table.ts';
import { wireRows } from '../../../src/kinds/vm/fields/rows.ts';
import { fieldsOfVm } from '../../../src/kinds/vm/take-over/fields.ts';
import { observedVm } from '../../../src/kinds/vm/testing/server.ts';
import { VM_SCHEMA } from '../../../src/provider/kinds/vm/schema.ts';
import type { Attributes } from '../../../src/provider/schema/model.ts';
import { passwordCredentials } from '../../../src/pve/index.ts';
import { DRIFT_WORLD, driftWorld } from '../engine/support/drift-world.ts';
import { failuresOf } from '../engine/support/invariants.ts';
import { Scene } from '../engine/support/scene.ts';
import { firstPicture, runPhase } from '../privileges/support/bench.ts';
import { MISSED_BY_ROOT, MISSED_BY_TOKENS, MISSED_ON_INTEL, type MissedKey } from './missed-keys.ts';

const ROOT = passwordCredentials({ username: 'root@pam', password: 'proxwright' });

/** What the keys stand beside. */
const BESIDE = {
  name: 'web',
  node: 'pve1',
  vmids: [401],
  guest: 'plain',
  restart: 'when_needed',
  machine: 'q35',
  bios: 'ovmf',
  scsi_controller: 'virtio-scsi-single',
  cpu: { cores: 2, numa: true },
  vga: { type: 'qxl' },
  boot: ['scsi0'],
  nics: { net0: { bridge: 'vmbr0' }, net1: { bridge: 'vmbr1' } },
  disks: {
    scsi0: { storage: 'local-lvm', import_from: 'local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2' },
    scsi1: { storage: 'local-lvm', size: '1GiB' },
    scsi2: { storage: 'local-lvm', size: '1GiB' },
  },
  efi: { storage: 'local-lvm', secure_boot: true },
  pci: { hostpci0: { mapping: 'gpu' } },
  cloud_init: { storage: 'local-lvm' },
  memory: '1GiB',
  intel_tdx: { type: 'tdx' },
};

type Tree = { [name: string]: unknown };

function put(tree: Tree, path: string, value: unknown): void {
  const [first = '', ...rest] = path.split('.');
  if (rest.length === 0) {
    if (value !== undefined) tree[first] = value;
    return;
  }
  tree[first] ??= {};
  put(tree[first] as Tree, rest.join('.'), value);
}

function stackWith(keys: readonly MissedKey[], which: 0 | 1): string {
  const vm: Tree = structuredClone(BESIDE);
  if (!keys.some(({ path }) => path.startsWith('intel_tdx'))) vm.intel_tdx = undefined;
  for (const { path, values } of keys) put(vm, path, values[which]);
  // All memory is in the NUMA nodes.
  const nodes = vm.numa_nodes as { numa0?: { memory?: string } } | undefined;
  if (nodes?.numa0?.memory !== undefined) vm.memory = nodes.numa0.memory;
  return stringify({ version: 1, stack: 'lab', vms: { web: vm } });
}

/** The attribute of a path, through maps by slot. */
function attributeAt(attributes: Attributes, [first = '', ...rest]: readonly string[]): unknown {
  const found = attributes[first];
  if (!found || rest.length === 0) return found;
  if (found.type.kind !== 'nested') return undefined;
  return attributeAt(found.type.attributes, found.type.nesting === 'map' ? rest.slice(1) : rest);
}

function familyOf(key: string): string {
  if (key.startsWith('scsi')) return 'drive';
  if (key === 'numa0') return 'numa[n]';
  return /^(virtiofs0|hostpci0|net1)$/.test(key) ? key.replace(/\d$/, '') : key;
}

/** Every field of a key, that of a slot by its name. */
function fieldsOfKey(key: string): string[] {
  return wireRows()
    .filter(({ family }) => family === familyOf(key))
    .map(({ path }) => path.replace('*', key));
}

describe.each([
  ['a token', MISSED_BY_TOKENS, undefined],
  ['root', MISSED_BY_ROOT, ROOT],
  ['root on a host by Intel', MISSED_ON_INTEL, ROOT],
])('what %s may set', (_, keys, credentials) => {
  const [first, then] = [stackWith(keys, 0), stackWith(keys, 1)];
  const scene = new Scene({ world: driftWorld, ...(credentials && { credentials }) });
  const config = () => scene.world.vms.get(401)?.config;
  let effects = new Map<string, string>();
  let imported: ReturnType<typeof fieldsOfVm> | undefined;
  const problems: string[] = [];

  beforeAll(async () => {
    problems.push(...failuresOf(await scene.apply(first)));
    const again = await scene.plan(first);
    if (again.kind !== 'ended' || again.plan.steps.length > 0) problems.push('the plan after the creation has steps');
    // A guest that has not booted does not release a device.
    await scene.clock.advance(300_000);
    const planned = await scene.plan(then);
    const changes = planned.kind === 'ended' ? planned.plan.changes : [];
    effects = new Map(changes.flatMap(({ differences }) => differences.map(({ path, effect }) => [path, effect])));
    problems.push(...failuresOf(planned), ...failuresOf(await scene.apply(then)));
    const last = await scene.plan(then);
    if (last.kind !== 'ended' || last.plan.steps.length > 0) problems.push('the plan after the change has steps');
    imported = fieldsOfVm({ ...observedVm(config()?.current ?? new Map()), running: true });
  });

  it('reaches a VM that is made and one that is changed, and nothing is left to plan', () => {
    expect(problems).toEqual([]);
    expect([...(config()?.pending.keys() ?? [])]).toEqual([]);
  });

  it.each(keys.map((key) => [key.path, key] as const))('has a row and an attribute: %s', (path, { wire }) => {
    const [key, part] = wire;
    expect(wireRows().some((row) => row.family === familyOf(key) && row.part === part)).toBe(true);
    expect(fieldsOfKey(key)).toContain(path);
    expect(attributeAt(VM_SCHEMA.attributes, path.split('.'))).toBeDefined();
  });

  it.each(keys.map((key) => [key.path, key] as const))(
    'is read back by import: %s',
    (path, { values: [, value], becomes }) => {
      expect(valueAt(imported?.plain ?? {}, path)).toEqual(becomes ?? value);
    },
  );

  it.each(keys.map((key) => [key.path, key] as const))('takes effect when Proxmox says: %s', (path, { effect }) => {
    expect(effects.get(path)).toBe(effect);
  });
});

it('names the privilege that a change of each of them needs, with a field of its key', async () => {
  const made = await runPhase(firstPicture(DRIFT_WORLD), { kind: 'apply', stack: stackWith(MISSED_BY_TOKENS, 0) });
  const then = { kind: 'apply' as const, stack: stackWith(MISSED_BY_TOKENS, 1) };
  const { check } = await runPhase(made.after, then, { execute: false });
  const missing = MISSED_BY_TOKENS.filter(({ wire: [key], needs }) => {
    const fields = fieldsOfKey(key);
    return !check?.requirements.some(
      ({ privileges, because }) =>
        privileges.includes(needs) && because.some(({ where }) => fields.includes(where.field ?? '')),
    );
  });
  expect(made.outcome).toBe('done');
  expect(missing.map(({ path, needs }) => `${path}: ${needs}`)).toEqual([]);
});

describe('what only root may set', () => {
  it.each([
    ['on any host', MISSED_BY_ROOT],
    ['on a host by Intel', MISSED_ON_INTEL],
  ])('is refused by the plan of a token, each key with its field: %s', async (_, keys) => {
    const scene = new Scene({ world: driftWorld });
    const planned = await scene.plan(stackWith(keys, 0));
    const problems = planned.kind === 'refused' ? planned.problems : [];
    const refused = new Set(problems.map(({ code, where }) => `${code} ${where?.field}`));
    const missing = [...new Set(keys.map(({ wire: [key] }) => key))].filter(
      (key) => !fieldsOfKey(key).some((path) => refused.has(`ROOT_ONLY ${path}`)),
    );
    expect(missing).toEqual([]);
    expect(scene.writes()).toEqual([]);
  });
});
