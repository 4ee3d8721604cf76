/** What is recorded for an existing VM (its identity, and the fields of the file that match it), and its ownership line. */
import type { Address } from '../../../base/address.ts';
import type { Difference } from '../../change.ts';
import type { Observed } from '../../observed.ts';
import { type ObservedPci, pciMappingsFor } from '../../pci-mapping/plan.ts';
import type { Step } from '../../step.ts';
import { appliedValues, type DesiredConfig } from '../config/desired.ts';
import { desiredConfig } from '../config/desired-config.ts';
import { packDesired } from '../config/packed.ts';
import { macsOf } from '../config/parts.ts';
import { diffVm } from '../diff/diff.ts';
import type { VmFields } from '../fields/index.ts';
import { appliedHa, diffHa } from '../ha.ts';
import type { VmObserved } from '../observed.ts';
import { printOwnership } from '../ownership.ts';
import { NODE_NOT_CHOSEN } from '../placement/candidates.ts';
import type { VmRecord } from '../record.ts';
import { ipsOfSeed } from '../seed/addresses.ts';
import { heldSeed, seedPlace } from '../seed/seed-place.ts';
import { bareVm } from '../stack.ts';
import { vmStep } from '../steps.ts';

interface Recorded {
  readonly vm: VmRecord;
  /** The desired configuration, with the ownership line. */
  readonly desired: DesiredConfig;
  /** Fields of the file that differ from the VM; the next plan shows them. */
  readonly differences: readonly Difference[];
}

export interface TakeOverInput {
  readonly stackName: string;
  /** Of the state. */
  readonly lineage: string | undefined;
  readonly address: Address;
  /** From the file; undefined if the file does not contain the VM. */
  readonly fields: VmFields | undefined;
  /** Paths of fields that a sensitive variable decides; they are not recorded. */
  readonly sensitive?: readonly string[] | undefined;
  readonly observed: VmObserved & { readonly uuid: string };
  /** NIC slot → known addresses. */
  readonly addresses: Record<string, string[]>;
  /** HA resources; absent if they were not read. */
  readonly ha?: Observed['ha'] | undefined;
  /** PCI mappings by name; needed if the file refers to a device by its address. */
  readonly pciMappings?: ReadonlyMap<string, readonly string[]> | undefined;
}

export function takeOver(input: TakeOverInput): Recorded {
  const { fields, observed, addresses, ha } = input;
  const { vmid, uuid, node, current } = observed;
  const desired: DesiredConfig = fields ? desiredOf(input, fields) : new Map();
  const availability = ha?.ok ? fields?.ha : undefined;
  const differences = [
    ...diffVm(desired, observed, undefined).differences,
    ...diffHa(availability, ha?.ok ? ha.value.get(vmid) : undefined, undefined),
  ];
  const open = new Set(differences.map(({ path }) => path));
  const applied = Object.entries({ ...appliedValues(desired), ...appliedHa(availability) }).filter(
    ([path]) => !open.has(path) && !isSecret(desired, path),
  );
  // Node and power apply when a VM is created or the file changes, so they count as applied here.
  const acting = fields ? { node: fields.node === NODE_NOT_CHOSEN ? node : fields.node, power: fields.power } : {};
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
      ...seedHeld(observed),
    },
    desired,
    differences,
  };
}

function desiredOf(
  { stackName, lineage, address, observed, pciMappings, sensitive }: TakeOverInput,
  fields: VmFields,
): DesiredConfig {
  const { vmid, uuid } = observed;
  const observedPci: ObservedPci = {
    pciMappings: { ok: true, value: pciMappings ?? new Map() },
    vms: new Map([[address, { kind: 'present', vm: observed }]]),
  };
  return desiredConfig(fields, {
    ownershipLine: printOwnership({
      stack: stackName,
      lineage,
      address,
      vmid,
      uuid,
      ips: ipsOfSeed(fields),
    }),
    pciMappings: pciMappingsFor(bareVm(address, fields), observedPci),
    sensitive,
    seed: seedPlace({
      fields,
      secrets: new Map(),
      base: observed.current,
      uuid,
      recordedVolume: heldSeed(observed.current)?.file,
    }),
  });
}

/** Records its cloud-init file, so that it is deleted together with the VM. */
function seedHeld({ current, node }: VmObserved): Pick<VmRecord, 'seed'> {
  const volid = heldSeed(current)?.file;
  const digest = /-([0-9a-f]{16})\.iso$/.exec(volid ?? '')?.[1];
  return volid === undefined || digest === undefined ? {} : { seed: { node, volid, digest } };
}

function isSecret(desired: DesiredConfig, path: string): boolean {
  return [...desired.values()].some(({ desired: { kind }, fields }) =>
    fields.some((field) => field.path === path && (kind === 'secret' || field.hidden)),
  );
}

/**
 * Changes only the notes of a recorded VM; without a line, removes the ownership line from them. The next plan shows a
 * description that differs.
 */
export function ownershipStep(address: Address, line: string | undefined): Step {
  const change = { key: 'description', desired: { kind: 'notes', text: undefined, line } } as const;
  return vmStep(address, 'vm.configure', { desired: packDesired([change]) });
}
