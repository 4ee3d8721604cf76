/**
 * The contract of a kind: everything the path of an apply knows about what a stack consists of. It goes through the list in
 * registry.ts and knows no kind by name; neither does this file. `docs/development.md` says how to add one.
 */
import type { Address, AddressKind } from '../base/address.ts';
import type { Diagnostic, Where } from '../base/diagnostics.ts';
import type { ResolvedSecret } from '../base/secret.ts';
import type { Pve } from '../pve/client.ts';
import type { ServerVersion } from '../pve/compatibility.ts';
import type { ActionContext, ActionDefinition, ObservationOf } from './action.ts';
import type { Change, ChangeKind, HookChoice, NodeRoom, Plan, PlannedWith } from './change.ts';
import type { Readable, StorageRow } from './cluster.ts';
import type { Checks, ExamineContext, ExaminedPart, UpgradeContext } from './doctor/examined.ts';
import type { Finding } from './doctor/finding.ts';
import type { Existing } from './existing.ts';
import type { Positioned } from './fields/positions.ts';
import type { PlannedIds } from './ids.ts';
import type { Observed } from './observed.ts';
import type { Cause, Need, Visibility } from './privileges/need.ts';
import type { StackState } from './recorded.ts';
import type { Evidence, MachineView } from './shown.ts';
import type { ResolvedStack } from './stack.ts';
import type { Step } from './step.ts';

/** `Context`: what its actions receive. The engine provides the contexts of all kinds at once; see registry.ts. */
export interface Kind<Context = ActionContext> {
  /** What its addresses begin with: `vm` in `vm.web`. Empty for a kind that belongs to no stack alone. */
  readonly prefixes: readonly AddressKind[];
  readonly words: KindWords;
  /** By name: what its steps do. Read when a step runs, is settled after a crash, or is shown. */
  readonly actions: Readonly<Record<string, ActionDefinition<never, Context>>>;
  /** What the file says about its resources, as plain data: a plan is stale once this has changed. */
  declared(stack: ResolvedStack): unknown;
  /** By address, digests of what was observed: a plan is stale once one of them has changed. Pure. */
  fingerprints?(observed: Observed): Readonly<Record<string, string>>;
  /** Reads its part of the cluster, concurrently with the other kinds. Changes nothing and decides nothing. */
  observe(context: ObserveContext): Promise<Partial<Observed>>;
  /** Compares desired, observed and recorded. Pure. */
  plan(context: PlanContext): KindPlan;
  /** What `destroy` does to its resources. Pure. */
  planDestroy(context: DestroyContext): KindPlan;
  /**
   * Moves to other nodes that a command requests, whatever the file says; absent for a kind that is on no node. Pure.
   */
  planRelocation?(context: RelocateContext): KindPlan;
  /** Snapshots and rollbacks that a command requests, whatever the file says; absent for a kind without them. Pure. */
  planSnapshots?(context: SnapshotContext): KindPlan;
  /** Resources that an interrupted run may have created although no open step says so, with the action that settles them. */
  unsettled(state: StackState): readonly { readonly address: string; readonly action: string }[];
  /** The state with its resources under their present addresses in the file; absent if they cannot be renamed. Pure. */
  renamed?(stack: ResolvedStack, state: StackState): StackState;
  /** The stack with what earlier runs gave its resources, such as IP addresses from a range. Pure. */
  given?(stack: ResolvedStack, state: StackState): ResolvedStack;
  /** The stack with the nodes on which its resources are, for a plan that chooses none. Pure. */
  located?(stack: ResolvedStack, state: StackState, observed: Observed): ResolvedStack;
  /** By address, the nodes that the steps of a plan chose, so that the same plan can be made again. Pure. */
  chosenNodes?(steps: readonly Step[]): Readonly<Record<string, string>>;
  /** Takes over what exists already, and finds lost records again; absent for a kind that cannot. */
  readonly existing?: Existing<ObservationOf<Context>>;
  /** The step that removes the mark of ownership; absent for a kind whose resources bear none. */
  releaseStep?(address: Address): Step;
  /** What an unfinished run was creating: how that ended only an apply finds out. Pure. */
  unfinished?(stack: ResolvedStack, state: StackState, observed: Observed): Unfinished;
  /** Reads what its checks look at. */
  examine?(context: ExamineContext): Promise<ExaminedPart>;
  /** What the doctor checks about its resources. */
  readonly checks?: Checks;
  /** What an upgrade of Proxmox VE breaks in its resources. Pure. */
  checkUpgrade?(context: UpgradeContext): readonly Finding[];
  /** Its resources as the outputs of the stack show them, in the order of the file. Pure. */
  outputs?(stack: ResolvedStack, state: StackState): readonly MachineView[];
  /** Compares each of its resources that exists and can be read with the file. Pure. */
  evidence?(context: EvidenceContext): ReadonlyMap<Address, Evidence>;
  /** The field whose secret value is sent under this key of Proxmox. */
  secretPath?(key: string): string | undefined;
  /** Which privileges the steps of a plan need, and which line of the file asks for each. Pure. */
  needs(context: NeedsContext): readonly StepNeeds[];
  /** Its part of a cluster that has everything the file refers to, and nothing that the stack will make. Pure. */
  assumed?(context: AssumeContext): Assumption;
  /** What a token needs to see what a problem is about; undefined if that is no reference of this kind. Pure. */
  visibility?(where: Where, stack: ResolvedStack): Visibility | undefined;
}

/** The words for a kind in output. */
export interface KindWords {
  /** `VM`; by prefix, because a former version of a template is not a template in use. */
  readonly nouns: Partial<Record<AddressKind, string>>;
  /** Verbs of a plan that differ from the usual ones: a template is built, not created. */
  readonly verbs?: Partial<Record<ChangeKind, string>>;
  /** Lines of a plan about a step that belongs to no change, such as a mapping that several VMs share. */
  readonly describeStep?: (step: Step, users: readonly Address[]) => readonly string[];
  /** What such a step does; a creation by default. */
  readonly changeOf?: (step: Step) => ChangeKind | undefined;
  /** Names those steps in the totals of a plan. */
  readonly countSteps?: (count: number) => string;
}

export interface ObserveContext {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly signal: AbortSignal | undefined;
  readonly nodes: Observed['nodes'];
  readonly guests: Observed['guests'];
  /** Resources to be replaced: what they are made from has to be read as well. */
  readonly replace: readonly string[];
  /** Custom cloud-init files are part of a template's recipe. */
  readonly secrets: Secrets;
  /** Whether to read VMs outside the state: only if the stack gives a VM an address, always, or never. */
  readonly neighbours: 'as-needed' | 'always' | 'never';
  /** Whether the plan chooses the IDs of machines to be made. */
  readonly choosesIds: boolean;
  /** Whether VMs are to be moved: then every node has to be read, whatever the file says. */
  readonly relocates: boolean;
  /**
   * The VMs whose snapshots a command needs: addresses or groups, all if empty; and whether it needs their contents.
   */
  readonly snapshots?: { readonly only: readonly string[]; readonly withConfigs: boolean } | undefined;
  /** The storages of a node; read once, whichever kinds ask. */
  storages(node: string): Promise<Readable<readonly StorageRow[]>>;
}

/** By address, then by field path. */
export type Secrets = ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>;

export interface PlanOptions extends PlannedWith {
  /** Ownership lines keep marking the VMs as incomplete, because the caller has more to do than this plan. */
  readonly asIncomplete?: boolean;
  /** False: a VM without an ownership line gets one only together with another change. */
  readonly claimsAlone?: boolean;
  /** A VM counts as lost only if its line names the address and, if the file sets an id, the VM has it. */
  readonly strictClaims?: boolean;
  /** By address, the node that an earlier plan chose; it is chosen again if the VM still fits there. */
  readonly keepNodes?: Readonly<Record<string, string>>;
  /** False: IDs that the file leaves open are chosen while the plan is executed, alongside other plans. */
  readonly chooseIds?: boolean;
}

/** Resources that an unfinished run was creating. */
export interface Unfinished {
  /** One for each of them. */
  readonly changes: readonly Change[];
  /** Both without them. */
  readonly stack: ResolvedStack;
  readonly state: StackState;
}

/** What the kinds of one plan gather together. */
export interface Findings {
  readonly problems: Diagnostic[];
  /** Per node and storage: the space that all resources of the plan need together, and one of them. */
  readonly neededBytes: Map<string, { readonly bytes: number; readonly for: Positioned }>;
}

export interface PlanContext {
  readonly stack: ResolvedStack;
  /** With every VM under its present address in the file. */
  readonly state: StackState;
  /** With every VM under the address that is recorded. */
  readonly recordedState: StackState;
  /** The cluster as the kinds planned before this one will leave it. */
  readonly observed: Observed;
  readonly secrets: Secrets;
  readonly options: PlanOptions;
  /** What the kinds planned before this one will do. */
  readonly planned: readonly ResourcePlan[];
  /** Problems, and the room that all resources together will need. */
  readonly findings: Findings;
  readonly ids: PlannedIds;
  isSelected(address: Address): boolean;
  isReplaced(address: Address): boolean;
}

export interface DestroyContext {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly recordedState: StackState;
  readonly observed: Observed;
  /** What to do with a VM that runs. */
  readonly running: 'shutdown' | 'stop' | 'refuse';
  /** Names of VMs whose kept disks may be destroyed. */
  readonly destroyData: readonly string[];
  isSelected(address: Address): boolean;
}

/** Empty a node, or move VMs so that they meet their placement rules again. */
export type Relocation = { readonly kind: 'drain'; readonly node: string } | { readonly kind: 'rebalance' };

export interface RelocateOptions {
  readonly relocation: Relocation;
  /** Addresses or groups; empty means everything. */
  readonly only?: readonly string[];
  /** Takes the local disks of the VMs that move. */
  readonly targetStorage?: string | undefined;
  /** Shut down, move and start VMs that cannot move while they run, also where the file says `restart: never`. */
  readonly allowRestart?: boolean;
  readonly hooks?: HookChoice;
}

export interface RelocateContext extends RelocateOptions {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  readonly secrets: Secrets;
  isSelected(address: Address): boolean;
}

/** The request of a command. */
export type SnapshotRequest =
  | {
      readonly kind: 'create';
      readonly name: string;
      readonly memory: boolean;
      readonly description?: string | undefined;
    }
  | { readonly kind: 'delete'; readonly name: string }
  /** `start`: VMs that run now are started again. */
  | { readonly kind: 'rollback'; readonly name: string; readonly start: boolean };

export interface SnapshotOptions {
  readonly request: SnapshotRequest;
  /** Addresses or groups; empty means everything. */
  readonly only?: readonly string[];
  /** Of a rollback, which makes running VMs unavailable. */
  readonly hooks?: HookChoice;
}

export interface SnapshotContext extends SnapshotOptions {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  isSelected(address: Address): boolean;
}

/** What will happen to one resource. */
export interface ResourcePlan {
  /** Absent if the resource has no line in a plan. */
  readonly change?: Change;
  readonly steps: readonly Step[];
  /** What others can build on once its steps are done. Opaque to the engine. */
  readonly provides?: readonly string[];
  /** What its first step waits for, if something in the plan provides it. */
  readonly uses?: readonly string[];
  /** It is removed from the stack: shown after everything else. */
  readonly isRemoval?: true;
}

export interface KindPlan {
  readonly resources: readonly ResourcePlan[];
  readonly problems: readonly Diagnostic[];
  readonly warnings: readonly Diagnostic[];
  /** What was checked, in sentences, if the changes do not show it. */
  readonly checked?: readonly string[];
  /** Room on the nodes before and after. */
  readonly room?: readonly NodeRoom[];
  /** The stack with what this kind decided, such as the nodes of VMs; absent if it decided nothing. */
  readonly stack?: ResolvedStack;
  /** The cluster as this kind will leave it; absent if that does not matter to the others. */
  readonly foreseen?: Observed;
}

export interface NeedsContext {
  readonly plan: Plan;
  readonly stack: ResolvedStack;
  readonly observed: Observed;
  readonly version: ServerVersion;
  /** Also what the resources need later: changes, power, migration, removal. */
  readonly lifecycle?: boolean;
}

export interface StepNeeds {
  readonly needs: readonly Need[];
  /** Action that needs them. */
  readonly step: string;
  whereOf(cause: Cause): Where;
}

export interface EvidenceContext {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  readonly secrets: Secrets;
}

export interface AssumeContext {
  /** As the kinds asked before this one left it. */
  readonly stack: ResolvedStack;
  /** What is known of the cluster, if there is one to read. */
  readonly observed?: Partial<Observed> | undefined;
}

export interface Assumption {
  readonly observed: Partial<Observed>;
  /** With a node for each resource that has to choose one. */
  readonly stack?: ResolvedStack;
  readonly secrets?: Secrets;
  /** What could not be read and how far the privileges reach because of that, in full sentences. */
  readonly guesses?: readonly string[];
  /** Needs that follow from these guesses. */
  readonly needs?: readonly StepNeeds[];
}

export const NOTHING_PLANNED: KindPlan = { resources: [], problems: [], warnings: [] };
