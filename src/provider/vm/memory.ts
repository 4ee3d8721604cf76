/** What the engine would remember of a VM, out of what the host keeps of it, and the other way round. */
import type { VmRecord } from '../../kinds/vm/record.ts';
import { type CtyObject, type CtyValue, isObject } from '../cty/value.ts';
import type { VmPrivate } from './private-state.ts';

export function textOf(object: CtyObject, name: string): string | undefined {
  const value = object[name];
  return typeof value === 'string' ? value : undefined;
}

export function vmidOf(object: CtyObject): number | undefined {
  return typeof object.vmid === 'number' ? object.vmid : undefined;
}

/** Where the file wants a VM and whether it runs act only when they change, so what they were comes from the state. */
export function memoryOfState(state: CtyObject, kept: VmPrivate): VmRecord {
  const node = textOf(state, 'node') ?? '';
  const power = kept.switchedOff ? 'stopped' : (textOf(state, 'power') ?? 'running');
  const uuid = textOf(state, 'id');
  return {
    vmid: vmidOf(state) ?? 0,
    ...(uuid !== undefined && { uuid }),
    node: textOf(state, 'current_node') ?? node,
    name: textOf(state, 'name') ?? '',
    phase: 'complete',
    lastApplied: { ...kept.applied, node, power },
    secrets: {},
    macs: textsOf(state.macs),
    addresses: addressesOf(state),
    ...(kept.seed && { seed: kept.seed }),
    ...(kept.oldSeeds && { oldSeeds: kept.oldSeeds }),
  };
}

export function addressesOf(state: CtyObject): Record<string, string[]> {
  const known = isObject(state.addresses) ? Object.entries(state.addresses) : [];
  return Object.fromEntries(known.map(([nic, list]) => [nic, Array.isArray(list) ? list.filter(isText) : []]));
}

function textsOf(value: CtyValue | undefined): Record<string, string> {
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter((entry): entry is [string, string] => isText(entry[1])));
}

const isText = (value: unknown): value is string => typeof value === 'string';
