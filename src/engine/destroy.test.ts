import { describe, expect, it } from 'vitest';
import type { Address } from '../base/address.ts';
import type { FileRecord } from '../kinds/image/record.ts';
import { emptyState, type StackState } from '../kinds/recorded.ts';
import { retiredAddress } from '../kinds/template/versions.ts';
import type { ObservedVm } from '../kinds/vm/observe/observed-vms.ts';
import { planDestroy } from './plan.ts';
import { NODE, observedWith, recorded, resolvedStack, vmAt } from './testing/cluster.ts';

const STACK = resolvedStack(`
version: 1
stack: lab
images:
  noble: { url: "https://images.example/noble.qcow2", content: import, storage: local }
templates:
  base: { vmid: 9000, node: pve1, disks: { scsi0: { image: noble, storage: tank } }, boot: [scsi0] }
defaults: { node: pve1, clone: { template: base } }
vms:
  web: { name: web, vmid: 101 }
  db: { name: db, vmid: 102, after: [web] }
`);
const RETIRED = retiredAddress('base', 9001);
const IDS: Readonly<Record<string, number>> = { 'vm.web': 101, 'vm.db': 102, 'template.base': 9000, [RETIRED]: 9001 };
const FILE: FileRecord = {
  address: 'image.noble["pve1"]',
  node: NODE,
  volid: 'local:import/noble.qcow2',
  sizeBytes: 10,
};

function planned(
  options: { all?: boolean; only?: readonly string[] } = {},
  file: Partial<FileRecord> = {},
  gone: string[] = [],
) {
  const vms = Object.fromEntries(Object.entries(IDS).map(([address, vmid]) => [address, recorded(vmid)]));
  const state: StackState = { ...emptyState('lab'), vms, files: { [`${NODE}/${FILE.volid}`]: { ...FILE, ...file } } };
  const seen = Object.entries(IDS).map(([address, vmid]): [Address, ObservedVm] => [
    address as Address, // as the table above has them
    gone.includes(address) ? { kind: 'gone' } : { kind: 'present', vm: vmAt(vmid, {}) },
  ]);
  const observed = observedWith({ vms: new Map(seen) });
  const result = planDestroy({ stack: STACK, state, observed, now: 0, running: 'stop', ...options });
  if (!result.ok) throw new Error(result.problems.map(({ detail }) => detail).join('\n'));
  return result.plan;
}

const addressesOf = (plan: ReturnType<typeof planned>) => plan.changes.map(({ address }) => address as string);

describe('the destruction of a stack', () => {
  it('removes its VMs, in the reverse order of creation, and nothing that other stacks may use', () => {
    expect(addressesOf(planned())).toEqual(['vm.db', 'vm.web']);
  });

  it('with everything removes templates after the VMs that use them, and files last', () => {
    const plan = planned({ all: true });
    expect(new Set(addressesOf(plan))).toEqual(new Set([...Object.keys(IDS), FILE.address]));
    const needsOf = (address: string) => plan.steps.find((step) => step.address === address)?.needs ?? [];
    expect(needsOf('template.base')).toEqual(expect.arrayContaining(['vm.web/destroy', 'vm.db/destroy']));
    expect(needsOf(RETIRED)).toEqual(expect.arrayContaining(['vm.web/destroy', 'vm.db/destroy']));
    expect(needsOf(FILE.address)).toHaveLength(Object.keys(IDS).length);
    expect(needsOf('vm.db')).toEqual([]);
  });

  it('removes a VM only after those that name it in `after`', () => {
    const needs = (plan: ReturnType<typeof planned>) => plan.steps.map((step) => [step.id, step.needs]);
    expect(needs(planned())).toEqual([
      ['vm.db/destroy', []],
      ['vm.web/destroy', ['vm.db/destroy']],
    ]);
    expect(needs(planned({ only: ['vm.web'] }))).toEqual([['vm.web/destroy', []]]);
  });

  it.each([
    [['template.base'], ['template.base']],
    [['image.noble'], [FILE.address]],
    [['vm.web'], ['vm.web']],
    [['retired.base'], [RETIRED]],
  ])('of %s alone removes only that', (only, addresses) => {
    expect(addressesOf(planned({ only }))).toEqual(addresses);
  });

  it('forgets what no longer exists', () => {
    const plan = planned({ all: true }, {}, ['template.base']);
    expect(plan.changes.find(({ address }) => address === 'template.base')?.kind).toBe('forget');
  });

  it('only forgets a file that existed before', () => {
    const kindOf = (file: Partial<FileRecord>) =>
      planned({ all: true }, file).changes.find(({ address }) => address === FILE.address)?.kind;
    expect(kindOf({})).toBe('delete');
    expect(kindOf({ foreign: true })).toBe('forget');
  });
});
