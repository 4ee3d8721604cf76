import { describe, expect, it } from 'vitest';
import { vmAddress } from '../../../base/address.ts';
import { UNDETAILED } from '../../change.ts';
import type { ResourcePlan } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import type { Step } from '../../step.ts';
import { vmFieldsSchema } from '../fields/index.ts';
import type { ObservedVm } from '../observe/observed-vms.ts';
import type { ResolvedVm } from '../stack.ts';
import { type VmActionName, vmStep } from '../steps.ts';
import { roomAfter } from './room.ts';

const GIB = 1024 ** 3;
const WEB = vmAddress('web');

const node = (usedGib: number) => ({ online: true, memory: { totalBytes: 64 * GIB, usedBytes: usedGib * GIB } });
const vm = (memoryGib: number): ResolvedVm => ({
  address: WEB,
  group: 'web',
  number: 1,
  fields: vmFieldsSchema.parse({ name: 'web', node: 'pve1', memory: `${memoryGib}GiB` }),
  after: [],
  formerly: [],
  positions: {},
});
const running = (memoryGib: number): ObservedVm => ({
  kind: 'present',
  vm: {
    vmid: 101,
    node: 'pve1',
    uuid: 'u',
    digest: 'd',
    current: new Map([['memory', String(memoryGib * 1024)]]),
    pending: new Map(),
    pendingDeletes: new Set(),
    running: true,
    lock: undefined,
    template: false,
  },
});
const step = (action: VmActionName, input: object = {}): Step => vmStep(WEB, action, input as never); // of this action

function room(steps: readonly Step[], found: ObservedVm | undefined, desired: ResolvedVm | undefined) {
  const observed = {
    nodes: new Map([
      ['pve1', node(10)],
      ['pve2', node(20)],
    ]),
    guests: new Map(),
    vms: new Map(found ? [[WEB, found]] : []),
    templates: new Map(),
    storages: new Map([['pve1', { ok: true, value: [{ storage: 'tank', availableBytes: 100 * GIB }] }]]),
  } as unknown as Observed; // the parts that matter here
  const change = {
    address: WEB,
    kind: 'update',
    name: 'web',
    node: 'pve1',
    vmid: 101,
    reason: '',
    ...UNDETAILED,
  } as const;
  const resources: ResourcePlan[] = [{ change, steps }];
  const neededBytes = new Map(found ? [] : [['pve1/tank', { bytes: 30 * GIB, for: vm(8) }] as const]);
  return roomAfter(resources, { vms: desired ? [desired] : [] }, observed, { neededBytes }).map((each) => [
    each.node,
    each.memory && [each.memory.freeBytes / GIB, each.memory.freeAfterBytes / GIB],
    ...(each.storages ?? []).map(({ storage, freeBytes, freeAfterBytes }) => [
      storage,
      freeBytes / GIB,
      freeAfterBytes / GIB,
    ]),
  ]);
}

describe('the room on the nodes after a plan', () => {
  it('shrinks by what a new VM takes, in memory and on its storage', () => {
    expect(room([step('vm.create'), step('vm.start')], undefined, vm(8))).toEqual([
      ['pve1', [54, 46], ['tank', 100, 70]],
    ]);
  });

  it('keeps its memory for a new VM that is not started', () => {
    expect(room([step('vm.create')], undefined, vm(8))).toEqual([['pve1', undefined, ['tank', 100, 70]]]);
  });

  it.each([
    ['grows when a VM is destroyed', [step('vm.destroy')], undefined, [['pve1', [54, 62]]]],
    ['grows when a VM is stopped', [step('vm.stop', { how: 'shutdown' })], vm(8), [['pve1', [54, 62]]]],
    ['follows a new size', [step('vm.configure'), step('vm.restart')], vm(12), [['pve1', [54, 50]]]],
    ['stays for a VM that is off for a while', [step('vm.stop', { forNow: true }), step('vm.start')], vm(8), []],
    ['stays for a VM that is replaced by one of the same size', [step('vm.destroy'), step('vm.start')], vm(8), []],
    [
      'moves with a VM',
      [step('vm.migrate', { target: 'pve2' })],
      vm(8),
      [
        ['pve1', [54, 62]],
        ['pve2', [44, 36]],
      ],
    ],
    ['is not mentioned where nothing changes', [], vm(8), []],
  ])('%s', (_, steps, desired, expected) => {
    expect(room(steps, running(8), desired)).toEqual(expected);
  });
});
