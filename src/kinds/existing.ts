/**
 * How resources that exist already come under the care of a stack: the part of a kind that `import` and `state recover`
 * ask for. Reads only; the engine records, and runs the step that marks a resource.
 */
import type { Address } from '../base/address.ts';
import type { Clock } from '../base/clock.ts';
import type { Pve } from '../pve/client.ts';
import type { Change } from './change.ts';
import type { AddressRecord, StackState } from './recorded.ts';
import type { ResolvedStack } from './stack.ts';
import type { Step } from './step.ts';

/** `Observation`: what a read of such a resource returns. */
export interface Existing<Observation> {
  /** Reads the resource, refuses it if the stack cannot have it, and says what to record. */
  takeOver(context: TakeOverContext): Promise<TakenOver<Observation>>;
  /** Rebuilds lost records from the marks on the resources. */
  recover(context: RecoverContext): Promise<Recovery>;
  /** Compares each record, for example of a backup, with the cluster. */
  compare(context: ClusterContext, state: StackState): Promise<readonly Standing[]>;
}

export interface ClusterContext {
  readonly pve: Pve;
  readonly signal?: AbortSignal | undefined;
}

/** A part of a stack file, not validated yet. */
export type Lines = Readonly<Record<string, unknown>>;

/** The stack of the file with these lines added; undefined if the file would be invalid, or still lack the resource. */
export type ReadLines = (written: Lines) => Promise<ResolvedStack | undefined>;

export interface TakeOverContext extends ClusterContext {
  readonly clock: Clock;
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly address: Address;
  readonly vmid: number;
  /** The user confirms that the resource with this id belongs to the address, whatever its uuid. */
  readonly acceptIdentity?: boolean;
  /** Reads the user's file with the generated lines added; without it, the lines are used as they are. */
  readonly readLines?: ReadLines;
}

export interface ImportResult {
  readonly vm: AddressRecord;
  /** The stack lines that describe it, and what they cannot express. */
  readonly found: { readonly written: Lines; readonly leftOut: readonly string[] };
  /** Whether the file contains the address. */
  readonly inFile: boolean;
  /** Where it differs from the file; the next plan shows it. */
  readonly differences: Change['differences'];
  /** Differences that a plan does not show, and what could not be read. */
  readonly remarks: readonly string[];
}

export interface TakenOver<Observation> {
  readonly result: ImportResult;
  /** What is recorded until the resource is marked. */
  readonly begun: AddressRecord;
  /** Writes the mark; absent if the resource has it already. */
  readonly mark?: { readonly step: Step; readonly last: Observation };
}

export interface RecoverContext extends ClusterContext {
  readonly clock: Clock;
  readonly stack: ResolvedStack;
  /** What is left of the state; empty if everything was lost. */
  readonly state: StackState;
}

export interface Recovery {
  readonly state: StackState;
  /** Addresses that the state did not contain, or had as another resource. */
  readonly found: readonly Address[];
  /** Addresses of recorded VMs whose network addresses were found. */
  readonly learned: readonly Address[];
  /** Recorded addresses without an ownership line; they are kept. */
  readonly notFound: readonly string[];
  /** Resources whose line does not count or that could not be read, and NICs without an address. */
  readonly remarks: readonly string[];
}

/** How a recorded resource compares with the cluster. */
export interface Standing {
  readonly address: string;
  readonly vmid: number;
  readonly name: string;
  readonly standing: 'same' | 'gone' | 'another' | 'hidden' | 'unfinished';
  /** Where it is now. */
  readonly node: string | undefined;
}
