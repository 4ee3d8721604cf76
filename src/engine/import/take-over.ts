/** What is remembered of a VM that exists already: its identity, and every field of the file that is true of it. Pure. */
import type { Address } from '../../base/address.ts';
import type { Clock } from '../../base/clock.ts';
import { hasCode } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Observed } from '../../kinds/observed.ts';
import { type PciSight, pciMappingsFor } from '../../kinds/pci-mapping/plan.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import { bareVm } from '../../kinds/vm/bare-vm.ts';
import { appliedValues, type DesiredConfig } from '../../kinds/vm/desired.ts';
import { desiredConfig } from '../../kinds/vm/desired-config.ts';
import { type Difference, diffVm } from '../../kinds/vm/diff/diff.ts';
import type { VmFields } from '../../kinds/vm/fields/index.ts';
import { appliedHa, diffHa } from '../../kinds/vm/ha.ts';
import { IdReservations } from '../../kinds/vm/ids.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import { printOwnership } from '../../kinds/vm/ownership.ts';
import { packDesired } from '../../kinds/vm/packed.ts';
import { macsOf } from '../../kinds/vm/parts.ts';
import { heldSeed, seedPlace } from '../../kinds/vm/plan/seed-place.ts';
import { GuestSigns } from '../../kinds/vm/ready/signs.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { vmStep } from '../../kinds/vm/steps.ts';
import type { Pve } from '../../pve/client.ts';
import type { RunMemory } from '../run-memory.ts';
import { runStep } from '../run-step.ts';

interface TakenOver {
  readonly vm: VmRecord;
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
  /** PCI mappings by name; needed where the file names a device by its address. */
  readonly pciMappings?: ReadonlyMap<string, readonly string[]> | undefined;
}

export function takeOver(input: TakeOverInput): TakenOver {
  const { fields, observed, addresses, ha } = input;
  const { vmid, uuid, node, current } = observed;
  const desired: DesiredConfig = fields ? wantedOf(input, fields) : new Map();
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
      ...seedHeld(observed),
    },
    desired,
    differences,
  };
}

function wantedOf({ stackName, address, observed, pciMappings }: TakeOverInput, fields: VmFields): DesiredConfig {
  const { vmid, uuid } = observed;
  const sight: PciSight = {
    pciMappings: { ok: true, value: pciMappings ?? new Map() },
    vms: new Map([[address, { kind: 'present', vm: observed }]]),
  };
  return desiredConfig(fields, {
    ownershipLine: printOwnership({ stack: stackName, address, vmid, uuid }),
    pciMappings: pciMappingsFor(bareVm(address, fields), sight),
    seed: seedPlace({
      fields,
      secrets: new Map(),
      base: observed.current,
      uuid,
      remembered: heldSeed(observed.current)?.file,
    }),
  });
}

/** Its documents are remembered, so that they go with it. */
function seedHeld({ current, node }: VmObserved): Pick<VmRecord, 'seed'> {
  const volid = heldSeed(current)?.file;
  const digest = /-([0-9a-f]{16})\.iso$/.exec(volid ?? '')?.[1];
  return volid === undefined || digest === undefined ? {} : { seed: { node, volid, digest } };
}

function isSecret(desired: DesiredConfig, path: string): boolean {
  return [...desired.values()].some(
    (entry) => entry.desired.kind === 'secret' && entry.fields.some((field) => field.path === path),
  );
}

interface NoteDoors {
  readonly pve: Pve;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly stack: ResolvedStack;
}

/** The memory knows the VM; without a line the notes are left with the user's own part. */
export async function writeOwnershipNote(
  doors: NoteDoors,
  memory: RunMemory,
  address: Address,
  line: string | undefined,
  last?: VmObserved,
): Promise<void> {
  const { pve, clock, random, log, stack, signal } = doors;
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
  // Only the line: a description in the file that differs is for the next plan to show.
  const wish = { key: 'description', desired: { kind: 'notes', text: undefined, line } } as const;
  const step = vmStep(address, 'vm.configure', { desired: packDesired([wish]) });
  await runStep(run, step, { observed: { last }, signs: new GuestSigns(pve, clock), signal });
}

/** Whether there was a VM of ours to let go; one that is gone, or whose id is another's by now, carries no line of ours. */
export async function removeOwnershipNote(doors: NoteDoors, memory: RunMemory, address: Address): Promise<boolean> {
  if (memory.vm(address)?.uuid === undefined) return false;
  try {
    await writeOwnershipNote(doors, memory, address, undefined);
    return true;
  } catch (error) {
    const isGone = hasCode(error, 'NOT_FOUND');
    const isAnother = hasCode(error, 'NOT_OURS');
    if (isGone || isAnother) return false;
    throw error;
  }
}
