/**
 * One kind of fault in one kind of step: the matrix of storms. Faults strike only while the step in question is under way,
 * so that every cell can be filled on purpose, and seen to be.
 */
import { passwordCredentials } from '../../../../src/pve/index.ts';
import {
  combineFaults,
  type FaultKind,
  type FaultPlan,
  type FaultRuleInput,
  type Faults,
} from '../../../../src/simulator/index.ts';
import { beforehand, codesOf, complaintsAfter, complaintsAfterDestroy, failuresOf } from './invariants.ts';
import { unmappedWorld } from './lab-world.ts';
import { type RunEnd, Scene, type SceneOptions, type Snapshot } from './scene.ts';
import { administer } from './storm.ts';

/** What is done to the one VM of a cell, and in which state of the stack it is found before. */
interface Scenario {
  readonly before: string | undefined;
  readonly after: string;
  readonly isDestroy?: boolean;
  /** What the step sends something to change: the VM itself, or only what the cluster knows of it. */
  readonly changes: 'vm' | 'cluster' | undefined;
  /** Whether a task does it. */
  readonly hasTask: boolean;
  readonly world?: SceneOptions['world'];
}

const stack = (vm: string) => `
version: 1
stack: lab
vms:
  web: { name: web, vmids: 401-420, ${vm} }
rollout: { timeouts: { ready: 10m } }
`;
const CLONED =
  'node: pve1, memory: 2GiB, guest: cloud-init, clone: { template: ubuntu-24.04 }, disks: { scsi0: { size: 5GiB }, scsi1: { storage: local-lvm, size: 1GiB } }';
const WEB = stack(CLONED);
const EMPTY = stack(
  'node: pve1, boot: [net0], nics: { net0: { bridge: vmbr0 } }, disks: { scsi0: { storage: nfs, size: 1GiB, format: qcow2 } }',
);
const GPU = stack(`${CLONED}, machine: q35, pci: { hostpci0: { device: "0000:01:00", pcie: true } }`);
const making = { before: undefined, after: WEB, changes: 'vm', hasTask: true } as const;

export const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'vm.clone': making,
  'vm.create': { ...making, after: EMPTY },
  'vm.configure': making,
  'vm.resize': making,
  'vm.verify': { ...making, changes: undefined, hasTask: false },
  'vm.start': making,
  'vm.ready': { ...making, changes: undefined, hasTask: false },
  'vm.stop': { ...making, before: WEB, after: stack(`${CLONED}, power: stopped`) },
  'vm.restart': { ...making, before: WEB, after: stack(`${CLONED.replace('2GiB', '3GiB')}, restart: when_needed`) },
  'vm.migrate': { ...making, before: WEB, after: stack(CLONED.replace('pve1', 'pve2')) },
  'vm.ha': {
    before: WEB,
    after: stack(`${CLONED}, ha: { max_restart: 3 }`),
    changes: 'cluster',
    hasTask: false,
  },
  'pci.map': { before: undefined, after: GPU, changes: 'cluster', hasTask: false, world: unmappedWorld },
  'vm.destroy': { ...making, before: WEB, after: WEB, isDestroy: true },
};

const ON_CHANGES: ReadonlySet<FaultKind> = new Set(['storage-lock', 'users-lock', 'disk-full']);
const ON_VM_CHANGES: ReadonlySet<FaultKind> = new Set(['lock', 'stranger-edit', 'stranger-lock']);
const ON_TASKS: ReadonlySet<FaultKind> = new Set(['task-fail', 'task-warn', 'task-unknown']);

/** Where there is nothing such a fault could strike: a cell that does not exist. */
export function isPossible(kind: FaultKind, action: string): boolean {
  const scenario = SCENARIOS[action];
  if (kind === 'agent-silent') return action === 'vm.ready';
  if (kind === 'stranger-id') return action === 'vm.clone' || action === 'vm.create';
  // A new VM cannot be edited by others yet; of a clone it is the template that is edited.
  if (kind === 'stranger-edit' && action === 'vm.create') return false;
  if (kind === 'stranger-lock' && action === 'vm.create') return false;
  if (ON_TASKS.has(kind)) return scenario?.hasTask === true;
  if (ON_VM_CHANGES.has(kind)) return scenario?.changes === 'vm';
  return !ON_CHANGES.has(kind) || scenario?.changes !== undefined;
}

/** Faults that a run overcomes by itself. */
const SURVIVABLE: ReadonlySet<FaultKind> = new Set([
  'lock',
  'storage-lock',
  'users-lock',
  'unreachable',
  'proxy-timeout',
  'cut-before',
  'cut-after',
  'task-warn',
  'task-unknown',
  'ticket-expired',
  'daemon-down',
  'agent-silent',
  'stranger-lock',
  'stranger-id',
]);

function ruleOf(kind: FaultKind, at: number): FaultRuleInput {
  const storage = { storage: 'local-lvm', for_ms: 70_000 };
  switch (kind) {
    case 'lock':
    case 'stranger-lock':
      // Longer than the server waits, shorter than all our attempts together.
      return { kind, at, for_ms: 15_000 };
    case 'storage-lock':
      return { kind, at, ...storage };
    case 'disk-full':
      return { kind, at, ...storage };
    default:
      return { kind, at } as FaultRuleInput; // the other kinds need nothing but their name
  }
}

/** Lets faults through only while a step of this action is under way. */
export function whileIn(action: string): (faults: FaultPlan, scene: Scene) => Faults {
  return (faults, scene) => {
    const isOpen = () => activeStep(scene) === action;
    const { beforeJob, onLog, beforeEnd } = faults.tasks;
    return {
      ...combineFaults(faults),
      onRequest: (info) => (isOpen() ? faults.onRequest(info) : undefined),
      tasks: {
        // Whether a task is struck is decided when it begins.
        beforeJob: (record) => (isOpen() ? beforeJob?.(record) : undefined),
        ...(onLog && { onLog }),
        ...(beforeEnd && { beforeEnd }),
      },
    };
  };
}

/** There is only one VM, so the last event decides. */
function activeStep({ events }: Scene): string | undefined {
  const last = events.findLast(({ event }) => /^(step(Started|Done|Failed)|resourceEnded)$/.test(event));
  return last?.event === 'stepStarted' ? last.action : undefined;
}

export interface CellEnd {
  readonly strikes: number;
  /** Whether the run succeeded, before anything was repaired. */
  readonly isSurvived: boolean;
  readonly complaints: readonly string[];
}

const snapshots = new Map<string, Promise<Snapshot>>();

/** The scene before a scenario; undefined where it begins with nothing. */
export async function beginningOf({ before }: Pick<Scenario, 'before'>): Promise<Snapshot | undefined> {
  if (before === undefined) return undefined;
  const known = snapshots.get(before) ?? startingFrom(before);
  snapshots.set(before, known);
  return known;
}

async function startingFrom(text: string): Promise<Snapshot> {
  const scene = new Scene();
  const failures = failuresOf(await scene.apply(text));
  if (failures.length > 0) throw new Error(failures.join('\n'));
  await scene.clock.advance(120_000);
  return scene.snapshot();
}

const ROOT = passwordCredentials({ username: 'root@pam', password: 'proxwright' });

/** `at` is the place among the things that could be struck; there may be fewer. */
export async function cell(kind: FaultKind, action: string, at: number, options: SceneOptions = {}): Promise<CellEnd> {
  const scenario = SCENARIOS[action];
  if (!scenario) throw new Error(`there is no scenario for ${action}`);
  const { after } = scenario;
  const from = await beginningOf(scenario);
  const scene = new Scene({
    seed: `${kind} ${action} ${at}`,
    faults: [ruleOf(kind, at)],
    gate: whileIn(action),
    ...(from && { from }),
    ...(scenario.world && { world: scenario.world }),
    ...(kind === 'ticket-expired' && { credentials: ROOT }),
    ...options,
  });
  const expectations = beforehand(scene);
  const end = await (scenario.isDestroy ? scene.destroy(after) : scene.apply(after));
  const { strikes } = scene.faults;
  const complaints = codesOf(end)
    .filter((code) => code === 'INVARIANT')
    .map(() => failuresOf(end).join('\n'));
  if (strikes.length > 0 && isSurvivable(kind, action) && !isWell(end)) {
    complaints.push(`it did not get through by itself: ${failuresOf(end)}`);
  }
  scene.faults.stop();
  await scene.clock.advance(600_000);
  administer(scene);
  if (!scenario.isDestroy) complaints.push(...(await complaintsAfter(scene, after, expectations)));
  complaints.push(...(await complaintsAfterDestroy(scene, after, expectations)));
  return { strikes: strikes.length, isSurvived: isWell(end), complaints };
}

/** A destroy that cannot tidy up user.cfg is broken off by the server itself, and only root can finish it. */
export const EXCUSED: readonly (readonly [FaultKind, string])[] = [['users-lock', 'vm.destroy']];

function isSurvivable(kind: FaultKind, action: string): boolean {
  return SURVIVABLE.has(kind) && !EXCUSED.some(([excused, where]) => excused === kind && where === action);
}

function isWell(end: RunEnd): boolean {
  return failuresOf(end).length === 0;
}
