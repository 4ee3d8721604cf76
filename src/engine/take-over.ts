/** What is remembered of a VM that exists already: its identity, and every field of the file that is true of it. Pure. */
import type { Address } from '../base/address.ts';
import { appliedValues, type DesiredConfig } from '../resources/vm/desired.ts';
import { type Difference, diffVm } from '../resources/vm/diff.ts';
import type { VmFields } from '../resources/vm/fields.ts';
import { appliedHa, diffHa } from '../resources/vm/ha.ts';
import type { VmObserved } from '../resources/vm/observed.ts';
import { printOwnership } from '../resources/vm/ownership.ts';
import { macsOf } from '../resources/vm/parts.ts';
import { wantedConfig } from '../resources/vm/wanted.ts';
import type { VmState } from '../state/stack-state.ts';
import type { Observed } from './observed.ts';

export interface TakenOver {
  readonly vm: VmState;
  /** What the file says of the VM, with its ownership line. */
  readonly desired: DesiredConfig;
  /** Fields of the file that are not true of the VM: the next plan shows them. */
  readonly differences: readonly Difference[];
}

export interface TakeOverInput {
  readonly stackName: string;
  readonly address: Address;
  /** What the file says; undefined where it does not mention the VM. */
  readonly fields: VmFields | undefined;
  readonly observed: VmObserved & { readonly uuid: string };
  /** NIC slot → addresses, as far as they are known. */
  readonly addresses: Record<string, string[]>;
  /** What the HA manager looks after; absent where nobody asked. */
  readonly ha?: Observed['ha'] | undefined;
}

export function takeOver({ stackName, address, fields, observed, addresses, ha }: TakeOverInput): TakenOver {
  const { vmid, uuid, node, current } = observed;
  const ownershipLine = printOwnership({ stack: stackName, address, vmid, uuid });
  const desired: DesiredConfig = fields ? wantedConfig(fields, { ownershipLine }) : new Map();
  const availability = ha?.ok ? fields?.ha : undefined;
  const differences = [
    ...diffVm(desired, observed, undefined).differences,
    ...diffHa(availability, ha?.ok ? ha.value.get(vmid) : undefined, undefined),
  ];
  const open = new Set(differences.map(({ path }) => path));
  const applied = Object.entries({ ...appliedValues(desired), ...appliedHa(availability) }).filter(
    ([path]) => !open.has(path) && !isSecret(desired, path),
  );
  // Place and power act when a VM is made or when the file changes them; taking it over is neither.
  const acting = fields ? { node: fields.node, power: fields.power } : {};
  return {
    vm: {
      vmid,
      uuid,
      node,
      name: current.get('name') ?? '',
      phase: 'complete',
      lastApplied: JSON.parse(JSON.stringify({ ...Object.fromEntries(applied), ...acting })),
      secrets: {},
      macs: macsOf(current),
      addresses,
    },
    desired,
    differences,
  };
}

function isSecret(desired: DesiredConfig, path: string): boolean {
  return [...desired.values()].some(
    (entry) => entry.desired.kind === 'secret' && entry.fields.some((field) => field.path === path),
  );
}
