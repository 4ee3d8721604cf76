/** The steps of a VM: the input of each action, as plain JSON data. */
import type { Address } from '../../base/address.ts';
import type { Relocation } from '../kind.ts';
import type { HookChange, HookMoment } from '../outage.ts';
import { makeStep, type Stage, type Step, type StepOptions } from '../step.ts';
import type { SeedInput, UnseedInput } from './actions/disks/seed.ts';
import type { PackedEntry } from './config/packed.ts';
import type { HaFields } from './fields/ha.ts';
import type { VmFields } from './fields/index.ts';
import type { ReadyChecks } from './ready/checks.ts';

/** Which id a new VM may have: this one, one of these, or (if neither is given) any free one. */
export interface IdChoice {
  readonly vmid?: number;
  readonly vmids?: readonly number[];
  /** The one of these that the plan chose and shows; apply takes another only if this one is taken by then. */
  readonly planned?: number;
}

interface Making extends IdChoice {
  /** Of a template: fingerprint of what it is built from, so that an unfinished one is recognised. */
  readonly recipe?: string;
}

export interface CloneInput extends Making {
  readonly source: {
    readonly node: string;
    readonly vmid: number;
    /** A template that the same plan builds: its id is known once it exists. */
    readonly address?: Address;
    /** How the file names it. */
    readonly reference?: string | number;
  };
  readonly name: string;
  readonly mode: 'full' | 'linked';
  readonly storage?: string;
  /** Target without `storage`: the storages of the source's disks, for the concurrency limits. */
  readonly storages?: readonly string[];
  readonly format?: 'raw' | 'qcow2' | 'vmdk';
  readonly pool?: string;
  /** Another node than the source's; needs shared storage. */
  readonly target?: string;
  /** The source's own notes: a clone keeps them, with our line below. */
  readonly notes?: string;
}

export interface CreateInput extends Making {
  readonly node: string;
  readonly name: string;
  readonly pool?: string;
  readonly desired: readonly PackedEntry[];
}

export interface ConfigureInput {
  readonly desired: readonly PackedEntry[];
  /** Keys whose value cannot be read back and has to be sent this time. */
  readonly secrets?: readonly string[];
}

export interface ResizeInput {
  readonly slot: string;
  readonly sizeBytes: number;
}

export interface MoveDiskInput {
  readonly slot: string;
  readonly node: string;
  /** Where its volume is now: for the limits and for people. */
  readonly from: string;
  readonly storage: string;
  readonly format?: 'raw' | 'qcow2' | 'vmdk';
  readonly sizeBytes?: number;
  readonly kibPerSecond?: number;
}

export interface VerifyInput {
  readonly desired: readonly PackedEntry[];
  /** Field path → value: what the state records as applied once the VM has been compared. */
  readonly applied: Readonly<Record<string, unknown>>;
  /** The last step of a template: afterwards it counts as finished. */
  readonly finishes?: true;
}

export interface StartInput {
  /** The VM existed before this run: a start task of an earlier run may still be running. */
  readonly mayBeUnderWay?: true;
}

export interface StopInput {
  readonly how: 'shutdown' | 'stop';
  /** The file asks for it: once stopped, that is recorded as applied. */
  readonly asDeclared?: true;
  /** A later step starts it again: until then no power state is recorded, so that the next plan starts it. */
  readonly forNow?: true;
}

export interface ReserveInput extends IdChoice {
  readonly node: string;
  readonly name: string;
  /** Field path → address from its range, if it differs from the one of its number. */
  readonly given?: Readonly<Record<string, string>>;
}

/** The old VM, which is destroyed once the new one is ready. */
export interface RemoveReplacedInput {
  readonly vmid: number;
}

export interface TakeFromInput {
  /** The address it had before. */
  readonly from: Address;
}

export interface ReadyInput {
  readonly checks: ReadyChecks;
  /** From the file: which NIC is used to reach the VM, and the expected addresses. */
  readonly nics?: VmFields['nics'];
}

export interface RestartInput {
  /** What waits for the restart, for the log. */
  readonly reasons: readonly string[];
}

export interface DestroyInput {
  /** What to do with a VM that runs. */
  readonly stop: 'shutdown' | 'stop' | 'refuse';
  /** Linked clones may use its disks: then it stays, with a warning. */
  readonly mayStayInUse?: true;
  /** Slots whose disks must have been handed over: as long as one of them has a disk, the VM stays. */
  readonly without?: readonly string[] | 'all';
}

/** The VM that holds the kept disks of this one while it is replaced. */
export interface HoldInput {
  /** That of the VM: disks change hands within a node only. */
  readonly node: string;
  readonly name: string;
  readonly pool?: string;
  /** The name of the VM whose disks it holds. */
  readonly of: string;
  /** Its id; any free one if it is not given, or taken by then. */
  readonly planned?: number;
}

export interface HandOverInput {
  readonly slot: string;
  readonly storage: string;
  readonly sizeBytes?: number;
  readonly pool?: string;
}

export interface UnholdInput {
  readonly pool?: string;
  /** The user gave up the disks that it still has. */
  readonly destroysData?: true;
}

export interface HookInput {
  readonly moment: HookMoment;
  /** The program and its arguments, with variables that are replaced when it runs. */
  readonly run: readonly string[];
  readonly timeoutMs: number;
  /** `vm.worker`. */
  readonly group: string;
  /** What makes the VM unavailable. */
  readonly change: HookChange;
  /** From the file: which NIC is used to reach the VM. */
  readonly nics?: VmFields['nics'];
  /** An earlier run started it, and its end is unknown: it does not run until the user has decided. */
  readonly endUnknown?: true;
  /** The user declared it done. */
  readonly countsAsDone?: true;
  /** It is about the old VM of a create-first replacement. */
  readonly ofReplaced?: true;
}

export interface MigrateInput {
  readonly target: string;
  /** The node it is on; for the concurrency limits. */
  readonly from?: string;
  /** Takes its local disks; by default those go to storages of the same name. */
  readonly storage?: string;
  /** A command asked for it, not the file: recorded, so that later plans can tell. */
  readonly because?: Relocation['kind'];
}

export interface SnapshotInput {
  /** Undefined for one that is taken before a change: its name then has the id of the run. */
  readonly name?: string;
  readonly memory: boolean;
  readonly description?: string;
}

export interface DeleteSnapshotInput {
  readonly name: string;
  /** Only if an apply of this stack took it before a change, by its name and its description. */
  readonly onlyAutomatic?: true;
}

export interface RollbackInput {
  readonly name: string;
  /** A later step starts it again: until then no power state is recorded, so that the next plan starts it. */
  readonly startsAgain?: true;
}

export interface HaInput {
  /** From the file; false removes the HA resource. */
  readonly ha: HaFields;
}

export interface VmInputs {
  readonly 'vm.take-from': TakeFromInput;
  readonly 'vm.forget': Readonly<Record<string, never>>;
  readonly 'vm.set-aside': Readonly<Record<string, never>>;
  readonly 'vm.remove-replaced': RemoveReplacedInput;
  readonly 'vm.reserve': ReserveInput;
  readonly 'vm.clone': CloneInput;
  readonly 'vm.create': CreateInput;
  readonly 'vm.configure': ConfigureInput;
  readonly 'vm.move-disk': MoveDiskInput;
  readonly 'vm.hold': HoldInput;
  readonly 'vm.give-disk': HandOverInput;
  readonly 'vm.take-disk': HandOverInput;
  readonly 'vm.unhold': UnholdInput;
  readonly 'vm.resize': ResizeInput;
  readonly 'vm.verify': VerifyInput;
  readonly 'vm.start': StartInput;
  readonly 'vm.stop': StopInput;
  readonly 'vm.restart': RestartInput;
  readonly 'vm.destroy': DestroyInput;
  readonly 'vm.migrate': MigrateInput;
  readonly 'vm.snapshot': SnapshotInput;
  readonly 'vm.delete-snapshot': DeleteSnapshotInput;
  readonly 'vm.rollback': RollbackInput;
  readonly 'vm.ha': HaInput;
  readonly 'vm.seed': SeedInput;
  readonly 'vm.unseed': UnseedInput;
  readonly 'vm.ready': ReadyInput;
  readonly 'vm.hook': HookInput;
}

export type VmActionName = keyof VmInputs;

const STAGE_OF: Readonly<Record<VmActionName, Stage>> = {
  'vm.take-from': 'prepare',
  'vm.forget': 'prepare',
  'vm.set-aside': 'prepare',
  'vm.remove-replaced': 'remove',
  'vm.reserve': 'prepare',
  'vm.migrate': 'prepare',
  'vm.snapshot': 'prepare',
  'vm.delete-snapshot': 'prepare',
  'vm.clone': 'create',
  'vm.create': 'create',
  'vm.seed': 'configure',
  'vm.rollback': 'configure',
  'vm.configure': 'configure',
  // Before the old VM is destroyed and the new one is created.
  'vm.hold': 'prepare',
  'vm.give-disk': 'prepare',
  'vm.take-disk': 'configure',
  'vm.unhold': 'configure',
  'vm.move-disk': 'configure',
  'vm.resize': 'configure',
  'vm.verify': 'configure',
  // After the read that shows no drive with it.
  'vm.unseed': 'configure',
  'vm.start': 'start',
  'vm.stop': 'start',
  'vm.restart': 'start',
  // After the power step: the HA manager gets a VM that is already in its desired state.
  'vm.ha': 'start',
  'vm.ready': 'ready',
  // Before the step that takes the VM down, or after the last one.
  'vm.hook': 'ready',
  'vm.destroy': 'remove',
};

export function vmStep<Name extends VmActionName>(
  address: Address,
  action: Name,
  input: VmInputs[Name],
  options?: StepOptions,
): Step<Name, VmInputs[Name]> {
  return makeStep(address, action, STAGE_OF[action], input, options);
}

/** Whether it is a step of this action, which then has the input of it. */
export function isVmStep<Name extends VmActionName>(step: Step, action: Name): step is Step<Name, VmInputs[Name]> {
  return step.action === action;
}

/** The steps of one action, each with the input of it. */
export function vmSteps<Name extends VmActionName>(
  steps: readonly Step[],
  action: Name,
): readonly Step<Name, VmInputs[Name]>[] {
  return steps.filter((step) => isVmStep(step, action));
}

/** By address: a plan that is made again must not choose other nodes because the room changed meanwhile. */
export function chosenNodes(steps: readonly Step[]): Record<string, string> {
  return Object.fromEntries(vmSteps(steps, 'vm.reserve').map(({ address, input }) => [address, input.node]));
}
