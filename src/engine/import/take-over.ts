/** What is recorded for an existing VM (its identity, and the fields of the file that match it), and its ownership line. */
import type { Address } from '../../base/address.ts';
import type { Clock } from '../../base/clock.ts';
import { hasCode } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { GuestSigns } from '../../kinds/guest-signs.ts';
import { IdReservations } from '../../kinds/ids.ts';
import type { Observed } from '../../kinds/observed.ts';
import { type ObservedPci, pciMappingsFor } from '../../kinds/pci-mapping/plan.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import { bareVm } from '../../kinds/vm/bare-vm.ts';
import { appliedValues, type DesiredConfig } from '../../kinds/vm/config/desired.ts';
import { desiredConfig } from '../../kinds/vm/config/desired-config.ts';
import { packDesired } from '../../kinds/vm/config/packed.ts';
import { macsOf } from '../../kinds/vm/config/parts.ts';
import { type Difference, diffVm } from '../../kinds/vm/diff/diff.ts';
import type { VmFields } from '../../kinds/vm/fields/index.ts';
import { appliedHa, diffHa } from '../../kinds/vm/ha.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import { printOwnership } from '../../kinds/vm/ownership.ts';
import { NODE_NOT_CHOSEN } from '../../kinds/vm/placement/candidates.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { ipsOfSeed } from '../../kinds/vm/seed/addresses.ts';
import { heldSeed, seedPlace } from '../../kinds/vm/seed/seed-place.ts';
import { vmStep } from '../../kinds/vm/steps.ts';
import type { Pve } from '../../pve/client.ts';
import type { RunMemory } from '../run-memory.ts';
import { runStep } from '../run-step.ts';

interface TakenOver {
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

export function takeOver(input: TakeOverInput): TakenOver {
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

interface NoteDeps {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly stack: ResolvedStack;
}

/** Changes only the notes of a recorded VM; without a line, removes the ownership line from them. */
export async function writeOwnershipNote(
  deps: NoteDeps,
  memory: RunMemory,
  address: Address,
  line: string | undefined,
  last?: VmObserved,
): Promise<void> {
  const { pve, clock, random, log, stack, signal } = deps;
  const run = {
    pve,
    clock,
    random,
    log,
    stackName: stack.name,
    rollout: stack.rollout,
    memory,
    ids: new IdReservations(),
    ports: { isOpen: async () => false },
    secret: () => undefined,
  };
  // Writes only the line; the next plan shows a description that differs.
  const change = { key: 'description', desired: { kind: 'notes', text: undefined, line } } as const;
  const step = vmStep(address, 'vm.configure', { desired: packDesired([change]) });
  await runStep(run, step, { observed: { last }, signs: new GuestSigns(pve, clock), signal });
}

/** Returns false if the VM is gone, or if its id belongs to another VM now. */
export async function removeOwnershipNote(deps: NoteDeps, memory: RunMemory, address: Address): Promise<boolean> {
  if (memory.vm(address)?.uuid === undefined) return false;
  try {
    await writeOwnershipNote(deps, memory, address, undefined);
    return true;
  } catch (error) {
    const isGone = hasCode(error, 'NOT_FOUND');
    const isAnother = hasCode(error, 'NOT_OURS');
    if (isGone || isAnother) return false;
    throw error;
  }
}
