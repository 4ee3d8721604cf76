/**
 * A plan: what will happen and why, as data. `changes` are for people, `steps` for the machine; nothing kept for display
 * steers execution. Fingerprints of its inputs make a stale plan recognisable.
 */
import type { Address } from '../base/address.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import type { HookMoment } from './outage.ts';
import type { Outage, Step } from './step.ts';

export const PLAN_VERSION = 1;

export type ChangeKind =
  | 'create'
  /** An earlier run created it and was interrupted; this plan does the rest. */
  | 'complete'
  | 'update'
  | 'replace'
  /** Of a template: a new version beside the old one. */
  | 'supersede'
  | 'delete'
  /** In the state but not in the file, and not deleted: listed as a reminder. */
  | 'keep'
  /** It no longer exists: its record is removed. */
  | 'forget'
  | 'none';

/** One field of the file that differs from the cluster. */
export interface Difference {
  /** Field of the file: `nics.net0.vlan`. */
  readonly path: string;
  /** Proxmox's key. */
  readonly key: string;
  /** In the words of the file; null where nothing is set. */
  readonly before: unknown;
  readonly after: unknown;
  /** Who changed it since the last apply. */
  readonly by: 'file' | 'others' | 'both';
  readonly effect: 'live' | 'restart' | 'impossible';
  /** Why it is impossible. */
  readonly reason?: string;
  /** The values are masks. */
  readonly secret?: true;
}

/** A volume that a plan destroys. */
export interface DestroyedVolume {
  /** `scsi0`; `unused0` for one that no drive uses. */
  readonly slot: string;
  /** `tank:vm-101-disk-0`. */
  readonly volume: string;
  readonly sizeBytes: number | undefined;
}

export interface Change {
  readonly address: Address;
  readonly kind: ChangeKind;
  readonly name: string;
  readonly node: string;
  readonly vmid: number | undefined;
  /** Failure domain of the node, where the file names one. */
  readonly zone?: string;
  /** Why this node, where the plan chose it: `41GiB free, fewest of this group`. */
  readonly placement?: string;
  /** One sentence. */
  readonly reason: string;
  readonly differences: readonly Difference[];
  /** Disks and NICs of the template or VM that the stack does not mention; they stay. */
  readonly inherited: readonly string[];
  /** Fields that left the file: no longer managed, kept as they are. */
  readonly unmanaged: readonly string[];
  /** Keys whose new value waits for a restart that the stack does not allow. */
  readonly restartPending: readonly string[];
  readonly restarts: boolean;
  /** Volumes that this change destroys, with everything on them. */
  readonly destroys?: readonly DestroyedVolume[];
  /** Programs on this machine that run before and after it. */
  readonly hooks?: readonly PlannedHook[];
  /** Further remarks about it, in sentences. */
  readonly notes?: readonly string[];
  /** Values changed outside Proxwright that an apply leaves alone: it acts on these only when the file changes them. */
  readonly outside?: readonly OutsideChange[];
}

export interface PlannedHook {
  readonly moment: HookMoment;
  readonly run: readonly string[];
  readonly timeoutMs: number;
  /** An earlier run started it and died: the user has to decide whether it runs again. */
  readonly endUnknown?: true;
  /** The user declared it done. */
  readonly countsAsDone?: true;
}

export interface OutsideChange {
  readonly path: 'power' | 'node';
  readonly applied: string;
  readonly actual: string;
  /** Of a node: the command of Proxwright that moved the VM there, if it was one. */
  readonly by?: 'drain' | 'rebalance';
}

/** `vm.web (memory, cpu.cores)`, for each VM that runs with old values until it is restarted. */
export function pendingRestarts(changes: readonly Pick<Change, 'address' | 'restartPending'>[]): string[] {
  return changes
    .filter(({ restartPending }) => restartPending.length > 0)
    .map(({ address, restartPending }) => `${address} (${restartPending.join(', ')})`);
}

/** The details of a change that has none. */
export const UNDETAILED: Pick<Change, 'differences' | 'inherited' | 'unmanaged' | 'restartPending' | 'restarts'> = {
  differences: [],
  inherited: [],
  unmanaged: [],
  restartPending: [],
  restarts: false,
};

export interface Plan {
  readonly version: typeof PLAN_VERSION;
  readonly stack: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly changes: readonly Change[];
  readonly steps: readonly Step[];
  /** Groups of which members become unavailable; absent if none does. */
  readonly rolls?: readonly Roll[];
  /** Warnings; a plan with errors is not made. */
  readonly warnings: readonly Diagnostic[];
  /** What was checked, in sentences, if the changes do not show it. */
  readonly checked?: readonly string[];
  /** Room on the nodes that this plan uses or frees; absent where the token may not see it. For people and dashboards. */
  readonly room?: readonly NodeRoom[];
  /** What the plan was asked to do beyond following the file; apply uses it to recompute the plan and compare. */
  readonly options?: PlannedWith;
  /** SHA-256 of the inputs of the plan; apply compares them with the present ones. */
  readonly fingerprints: Fingerprints;
}

/** What a node has free now, and after the plan. */
export interface NodeRoom {
  readonly node: string;
  readonly memory?: Room & { readonly totalBytes: number };
  readonly storages?: readonly (Room & { readonly storage: string })[];
}

interface Room {
  readonly freeBytes: number;
  /** Negative where it is overcommitted. */
  readonly freeAfterBytes: number;
}

/** How the members of a group take turns. */
export interface Roll extends Omit<Outage, 'again' | 'isOpen' | 'isAsked'> {
  /** For each member, the arguments of an apply that changes it in the same way. */
  readonly again: Readonly<Record<Address, readonly string[]>>;
  /** Members that go down together, in this order. The next one goes down as soon as an earlier one is ready again. */
  readonly waves: readonly (readonly Address[])[];
}

export function rollsOf(steps: readonly Step[]): Roll[] {
  const groups = new Map<string, { readonly outage: Outage; readonly members: Map<Address, readonly string[]> }>();
  for (const { outage, address } of steps) {
    // A member that is already down does not go down.
    if (!outage || outage.isOpen) continue;
    const known = groups.get(outage.group);
    if (known) known.members.set(address, outage.again);
    else groups.set(outage.group, { outage, members: new Map([[address, outage.again]]) });
  }
  return [...groups.values()].map(({ outage: { isAsked, ...outage }, members }) => ({
    ...outage,
    again: Object.fromEntries(members),
    waves: Array.from({ length: Math.ceil(members.size / outage.atMost) }, (_, wave) =>
      [...members.keys()].slice(wave * outage.atMost, (wave + 1) * outage.atMost),
    ),
  }));
}

/** What a plan was asked to do beyond following the file. */
export interface PlannedWith {
  /** Addresses or groups; empty means everything. */
  readonly only?: readonly string[];
  readonly allowDelete?: boolean;
  /** Restart if a change needs it, even VMs with `restart: never`. */
  readonly allowRestart?: boolean;
  /** Resources to be replaced, because the user asked for it. */
  readonly replace?: readonly string[];
  /** Names of VMs whose kept disks may be destroyed. */
  readonly destroyData?: readonly string[];
  /** How to treat hooks, if not as the file says. */
  readonly hooks?: HookChoice;
}

/** How a plan treats hooks, if not as the file says. */
export interface HookChoice {
  /** No hook runs. */
  readonly off?: true;
  /** Addresses or groups: hooks that an earlier run started and did not finish run again. */
  readonly again?: readonly string[];
  /** Addresses or groups: hooks that an earlier run started and did not finish count as done. */
  readonly done?: readonly string[];
}

export interface Fingerprints {
  readonly stack: string;
  readonly state: string;
  /** Of the state; absent before its first write. */
  readonly lineage?: string;
  /** Of the state. */
  readonly serial?: number;
  /** Per VM: of its identity and configuration. */
  readonly vms: Readonly<Record<string, string>>;
}

export function isEmpty(plan: Plan): boolean {
  return plan.steps.length === 0;
}
