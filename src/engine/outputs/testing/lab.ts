/** Small stacks and their state, for tests of outputs. */
import { vmAddress } from '../../../base/address.ts';
import { emptyState, type StackState } from '../../../kinds/recorded.ts';
import type { ResolvedStack } from '../../../kinds/stack.ts';
import { type VmFieldsInput, vmFieldsSchema } from '../../../kinds/vm/fields/index.ts';
import type { VmRecord } from '../../../kinds/vm/record.ts';
import type { ResolvedVm } from '../../../kinds/vm/stack.ts';

export function vm(group: string, number: number, fields: Partial<VmFieldsInput>): ResolvedVm {
  const name = `lab-${group}-${number}`;
  return {
    address: vmAddress(group, number),
    group,
    number,
    fields: vmFieldsSchema.parse({ name, node: 'pve1', guest: 'talos', ...fields }),
    after: [],
    formerly: [],
    positions: {},
  };
}

/** Only the parts of a stack that outputs use. */
export function stackOf(vms: readonly ResolvedVm[], outputs: ResolvedStack['outputs'] = {}): ResolvedStack {
  return { name: 'lab', vms, outputs } as ResolvedStack;
}

export const known = (vmid: number, more: Partial<VmRecord> = {}): VmRecord => ({
  vmid,
  uuid: 'u',
  node: 'pve1',
  name: 'n',
  phase: 'complete',
  lastApplied: {},
  secrets: {},
  macs: { net0: `BC:24:11:00:00:${String(vmid % 100).padStart(2, '0')}` },
  addresses: {},
  ...more,
});

export function stateOf(vms: Readonly<Record<string, VmRecord>>): StackState {
  return { ...emptyState('lab'), vms };
}

export const address = (ip: string) => ({ nics: { net0: { ipv4: { address: `${ip}/24` } } } });

/** Two control planes with static addresses, a worker on DHCP with two NICs, one without an address, one that does not exist yet. */
export const STACK = stackOf(
  [
    vm('control', 1, { role: 'control-plane', ...address('10.0.20.11') }),
    vm('control', 2, { role: 'control-plane', ...address('10.0.20.12') }),
    vm('worker', 1, { role: 'worker' }),
    vm('worker', 2, { role: 'worker' }),
    vm('web', 1, { guest: 'cloud-init', ...address('10.0.20.31') }),
  ],
  { talos: { vip: '10.0.20.10' } },
);

export const STATE: StackState = {
  ...emptyState('lab'),
  vms: {
    'vm.control[1]': known(101, { addresses: { net0: ['10.0.20.11', 'fd00::11'] } }),
    'vm.control[2]': known(102, { node: 'pve2' }),
    'vm.worker[1]': known(111, {
      macs: { net10: 'BC:24:11:00:01:02', net2: 'BC:24:11:00:01:01' },
      addresses: { net10: ['10.9.0.7'], net2: ['192.168.7.7', '203.0.113.7'] },
    }),
    'vm.worker[2]': known(112, { phase: 'incomplete' }),
    'vm.gone[1]': known(199),
  },
};
