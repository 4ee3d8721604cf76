/** The VMs of a stack where they are now: what they need elsewhere, which nodes they may be on, and what keeps them. Pure. */
import { type Address, kindOf } from '../../../base/address.ts';
import type { Diagnostic, Where } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command, setting } from '../../../base/hint.ts';
import { whereOf } from '../../fields/positions.ts';
import type { RelocateContext } from '../../kind.ts';
import { recordedMachines } from '../../recorded.ts';
import { propertyOf } from '../config/parts.ts';
import { diffVm } from '../diff/diff.ts';
import { notOurs, sameVm, vmName } from '../identity.ts';
import { observedHa } from '../observe/ha.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { allowedNodes } from '../placement/candidates.ts';
import { DEFAULT_RULES, type PlacementVm } from '../placement/ledger.ts';
import { withKnownNodes } from '../placement/place.ts';
import { desiredOfExisting } from '../plan/desired-vm.ts';
import type { VmRecord } from '../record.ts';
import type { ResolvedVm } from '../stack.ts';
import { type Mover, type Obstacle, obstaclesOf } from './obstacles.ts';

export interface Resident extends Mover {
  readonly address: Address;
  readonly name: string;
  readonly recorded: VmRecord;
  /** Undefined if it left the file. */
  readonly desired: ResolvedVm | undefined;
  /** Nodes that the file allows; for a VM that has left the file, the one it is on. */
  readonly nodes: readonly string[];
  /** Without its sites, which depend on the command. */
  readonly placement: Omit<PlacementVm, 'sites'>;
  /** It is shut down for the move, and started after it. */
  readonly restarts: boolean;
  /** Why it cannot be moved. */
  readonly problems: readonly Diagnostic[];
}

interface Residents {
  readonly residents: readonly Resident[];
  /** Of VMs whose place or identity is not known. */
  readonly problems: readonly Diagnostic[];
}

/** The file names one node. */
export function isPinned({ desired }: Pick<Resident, 'desired'>): boolean {
  return desired !== undefined && desired.placement === undefined;
}

export function whereOfResident({ address, desired }: Pick<Resident, 'address' | 'desired'>, path = ''): Where {
  return desired ? whereOf(desired, path) : { address };
}

export function residentsOf(context: RelocateContext): Residents {
  const { stack, state, observed, isSelected } = context;
  const known = withKnownNodes(stack, state, observed);
  const desired = new Map(known.vms.map((vm) => [vm.address, vm]));
  const residents: Resident[] = [];
  const problems: Diagnostic[] = [];
  for (const [address, recorded] of recordedMachines(state)) {
    if (kindOf(address) !== 'vm') continue;
    const found = observed.vms.get(address);
    const vm = desired.get(address);
    const problem = placeProblem(address, vm, recorded, found);
    if (problem && isSelected(address)) problems.push(problem);
    if (!problem && found?.kind === 'present') residents.push(residentAt(address, vm, recorded, found.vm, context));
  }
  return { residents, problems };
}

function placeProblem(
  address: Address,
  desired: ResolvedVm | undefined,
  recorded: VmRecord,
  found: ReturnType<RelocateContext['observed']['vms']['get']>,
): Diagnostic | undefined {
  const where = whereOfResident({ address, desired });
  if (recorded.phase !== 'complete') {
    return new ProxwrightError({
      code: 'CANNOT_MOVE',
      where,
      detail: `An earlier run did not finish ${recorded.name} (VM ${recorded.vmid}).`,
      hint: advice`Finish it first: ${command('apply', '--only', address)}`,
    }).diagnostic;
  }
  if (found?.kind === 'hidden') {
    return new ProxwrightError({
      code: 'PRIVILEGE_MISSING',
      where,
      detail: `VM ${recorded.vmid} cannot be read: the token needs ${found.needs}.`,
      hint: 'Grant it to the user and to its token, then run the command again.',
    }).diagnostic;
  }
  if (found?.kind !== 'present' || sameVm(recorded, found.vm)) return undefined;
  return notOurs({ address, recorded, observed: found.vm, where }).diagnostic;
}

const ALLOW_RESTART = advice`Let Proxwright shut it down, move it and start it again: add --allow-restart, or write ${setting('restart', 'when_needed')}.`;

const MIB = 1024 ** 2;
/** Proxmox's default. */
const DEFAULT_MEMORY_MIB = '512';

function residentAt(
  address: Address,
  desired: ResolvedVm | undefined,
  recorded: VmRecord,
  vm: VmObserved,
  context: RelocateContext,
): Resident {
  const { observed } = context;
  const mover: Mover = { vm, ha: observedHa(observed, vm.vmid) };
  const values = effectiveValues(vm);
  const isUp = vm.running || isLeftStopped(vm, desired, recorded);
  const memoryMib = Number(propertyOf('memory', values.get('memory')).get('current') ?? DEFAULT_MEMORY_MIB);
  const obstacles = obstaclesOf(mover, observed, ALLOW_RESTART).filter(({ isLiveOnly }) => !isLiveOnly || isUp);
  const mayRestart = context.allowRestart === true || desired?.fields.restart === 'when_needed';
  const live = obstacles.filter(({ isLiveOnly }) => isLiveOnly);
  const restarts = isUp && desired !== undefined && (!vm.running || (live.length > 0 && mayRestart));
  const open = obstacles.filter(({ isLiveOnly }) => !(isLiveOnly && restarts));
  const changed = restarts && vm.running ? changedFields(desired, recorded, vm, context) : [];
  const resident = { address, desired, name: vm.current.get('name') ?? recorded.name };
  return {
    ...mover,
    ...resident,
    recorded,
    nodes: desired ? allowedNodes(desired, observed.nodes) : [vm.node],
    placement: {
      address,
      group: desired?.group ?? address,
      memoryBytes: isUp ? memoryMib * MIB : 0,
      cores: Number(values.get('cores') ?? 1) * Number(values.get('sockets') ?? 1),
      rules: desired?.placement?.rules ?? DEFAULT_RULES,
    },
    restarts,
    problems: [
      ...open.map((obstacle) => obstacleProblem(obstacle, vm, resident)),
      ...(changed.length > 0 ? [differs(resident, vm, changed)] : []),
    ],
  };
}

/** An earlier run shut it down to move it, and ended before it started it again. */
export function isLeftStopped(vm: VmObserved, desired: ResolvedVm | undefined, { lastApplied }: VmRecord): boolean {
  return !vm.running && desired?.fields.power === 'running' && lastApplied.power === undefined;
}

/** Proxwright starts no VM that is not what the file says. */
function changedFields(desired: ResolvedVm, recorded: VmRecord, vm: VmObserved, context: RelocateContext): string[] {
  const { differences } = diffVm(desiredOfExisting(context, desired, recorded, vm), vm, recorded.lastApplied);
  return [...new Set(differences.map(({ path }) => path))];
}

function obstacleProblem(
  { path, what, hint }: Obstacle,
  vm: VmObserved,
  resident: Pick<Resident, 'address' | 'desired'>,
): Diagnostic {
  const detail = `${vmName(vm)} ${what}`;
  return new ProxwrightError({ code: 'CANNOT_MOVE', where: whereOfResident(resident, path), detail, hint }).diagnostic;
}

function differs(
  resident: Pick<Resident, 'address' | 'desired'>,
  vm: VmObserved,
  paths: readonly string[],
): Diagnostic {
  return new ProxwrightError({
    code: 'CANNOT_MOVE',
    where: whereOfResident(resident, paths[0]),
    detail: `${vmName(vm)} would be shut down and started for the move, but it is not what the file says: ${paths.join(', ')}.`,
    hint: advice`Apply the file first: ${command('apply', '--only', resident.address)}`,
  }).diagnostic;
}
