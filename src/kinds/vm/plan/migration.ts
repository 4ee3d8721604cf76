/**
 * An apply that moves a VM, because the file names another node: whether it can move, and how. The same obstacles count
 * as for `drain`. Pure.
 */
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, setting } from '../../../base/hint.ts';
import { whereOf } from '../../fields/positions.ts';
import type { Findings } from '../../kind.ts';
import { vmName } from '../identity.ts';
import { observedHa } from '../observe/ha.ts';
import type { VmObserved } from '../observed.ts';
import type { VmRecord } from '../record.ts';
import { copiesNote, howItMoves } from '../relocate/move.ts';
import { copiedVolumes, type Mover, type Obstacle, obstaclesOf } from '../relocate/obstacles.ts';
import { siteOf } from '../relocate/sites.ts';
import type { ResolvedVm } from '../stack.ts';
import { needRoom } from './checks/room.ts';
import type { VmPlanInput } from './desired-vm.ts';

export interface Migration {
  /** It is shut down for the move, because it cannot move while it runs. */
  readonly isOffline: boolean;
  readonly notes: readonly string[];
}

/** The file names another node than before. A VM that another client migrated stays where it is. */
export function migrates(
  { fields, placement }: ResolvedVm,
  recorded: VmRecord | undefined,
  actual: Pick<VmObserved, 'node'>,
): boolean {
  return !placement && isRenamed(fields.node, recorded) && actual.node !== fields.node;
}

/** Before anything is read: a VM that the plan may move. */
export function mayMigrate({ fields, placement }: ResolvedVm, recorded: VmRecord | undefined): boolean {
  return !placement && isRenamed(fields.node, recorded);
}

function isRenamed(node: string, recorded: VmRecord | undefined): boolean {
  return recorded?.lastApplied.node !== undefined && recorded.lastApplied.node !== node;
}

/** Undefined if the VM does not move. Problems and the space that its local disks need go to `findings`. */
export function migrationOf(
  { vm, observed, mayRestart }: Pick<VmPlanInput, 'vm' | 'observed' | 'mayRestart'>,
  recorded: VmRecord,
  actual: VmObserved,
  findings: Findings,
): Migration | undefined {
  if (!migrates(vm, recorded, actual)) return undefined;
  const mover: Mover = { vm: actual, ha: observedHa(observed, actual.vmid) };
  const { node } = vm.fields;
  const obstacles = obstaclesOf(mover, observed, ALLOW_RESTART).filter(
    ({ isLiveOnly }) => !isLiveOnly || actual.running,
  );
  const isOffline = mayRestart && obstacles.some(({ isLiveOnly }) => isLiveOnly);
  const open = obstacles.filter(({ isLiveOnly }) => !(isLiveOnly && isOffline));
  const site = siteOf(mover, node, observed, {});
  findings.problems.push(
    ...open.map((obstacle) => obstacleProblem(vm, actual, obstacle)),
    ...(site.ok ? [] : [siteProblem(vm, actual, site.why)]),
  );
  for (const [storage, bytes] of copiedVolumes(mover, observed, undefined)) {
    needRoom(findings, vm, { node, storage, bytes });
  }
  return {
    isOffline,
    notes: [howItMoves({ ...mover, restarts: isOffline }), ...copiesNote(mover, node, { observed })],
  };
}

const ALLOW_RESTART = advice`Let Proxwright shut it down, move it and start it again: ${setting('restart', 'when_needed')}`;

function obstacleProblem(vm: ResolvedVm, actual: VmObserved, { path, what, hint, isLiveOnly }: Obstacle): Diagnostic {
  return new ProxwrightError({
    code: 'CANNOT_MOVE',
    where: whereOf(vm, path),
    detail: `The file moves it to ${vm.fields.node}, but ${vmName(actual)} ${what}`,
    hint: isLiveOnly || path === '' ? hint : advice`${hint} ${beforeTheMove(actual)}`,
  }).diagnostic;
}

function siteProblem(vm: ResolvedVm, actual: VmObserved, why: readonly string[]): Diagnostic {
  return new ProxwrightError({
    code: 'CANNOT_MOVE',
    where: whereOf(vm, 'node'),
    detail: `${vm.fields.node} cannot take ${vmName(actual)}: ${why.join(' ')}`,
    hint: advice`Name another node, or give the VM only what ${vm.fields.node} has. ${beforeTheMove(actual)}`,
  }).diagnostic;
}

/** What is already right in the file does not help: the move comes first. */
const beforeTheMove = ({ node }: VmObserved) =>
  advice`The move precedes all other changes of the VM: apply those first, with ${setting('node', node)}.`;
