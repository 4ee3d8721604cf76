/** What the engine would remember of a template and its earlier versions, out of what the host keeps of them. */
import type { Address } from '../../base/address.ts';
import { emptyState, type StackState } from '../../kinds/recorded.ts';
import { retiredAddress } from '../../kinds/template/versions.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import type { CtyObject } from '../cty/value.ts';
import type { Surroundings } from '../surroundings.ts';
import { textOf, vmidOf } from '../vm/memory.ts';
import { ownerName } from '../vm/owner.ts';
import type { RetiredVersion, TemplatePrivate } from './private-state.ts';

const EMPTY = { lastApplied: {}, secrets: {}, macs: {}, addresses: {} };

/** One whose recipe is not known was made from another one. */
const NO_RECIPE = 'none';

export function memoryOfState(state: CtyObject, kept: TemplatePrivate): VmRecord {
  const uuid = textOf(state, 'uuid');
  return {
    ...EMPTY,
    vmid: vmidOf(state) ?? 0,
    ...(uuid !== undefined && { uuid }),
    node: (textOf(state, 'id') ?? '').split('/')[0] || (textOf(state, 'node') ?? ''),
    name: textOf(state, 'name') ?? '',
    phase: 'complete',
    lastApplied: kept.applied,
    template: { recipe: textOf(state, 'recipe') ?? NO_RECIPE, finished: true },
  };
}

export function memoryOfVersion({ vmid, uuid, node }: RetiredVersion, name: string): VmRecord {
  return { ...EMPTY, vmid, uuid, node, name, phase: 'complete', template: { recipe: NO_RECIPE, finished: true } };
}

export function versionOf({ vmid, uuid, node }: VmRecord): RetiredVersion[] {
  return uuid === undefined ? [] : [{ vmid, uuid, node }];
}

export interface Versions {
  readonly address: Address;
  readonly name: string;
  /** The one that is, or is being made. */
  readonly current: VmRecord | undefined;
  readonly retired: readonly RetiredVersion[];
}

export function stateOf({ work }: Surroundings, { address, name, current, retired }: Versions): StackState {
  const earlier = retired.map((version): [string, VmRecord] => [
    retiredAddress(name, version.vmid),
    memoryOfVersion(version, name),
  ]);
  const vms = Object.fromEntries([...earlier, ...(current ? [[address, current] as const] : [])]);
  return { ...emptyState(ownerName(work)), vms };
}

/** Earlier versions in the memory of a run. */
export function retiredIn({ vms }: StackState): RetiredVersion[] {
  return Object.entries(vms).flatMap(([address, vm]) => (address.startsWith('retired.') ? versionOf(vm) : []));
}
