/** Snapshots of a VM: the rules for their names, what is read about them, and which of them Proxwright took. */
import type { Instant } from '../../../base/clock.ts';
import type { SnapshotEntry } from '../../../pve/index.ts';
import { OWNERSHIP_PREFIX } from '../identity.ts';

/** One snapshot as Proxmox lists it. */
export interface Snapshot {
  readonly name: string;
  readonly description: string;
  readonly takenAt: Instant | undefined;
  readonly parent: string | undefined;
  readonly hasMemory: boolean;
  /** Set while a task takes or deletes it, and after one that was interrupted. */
  readonly state: string | undefined;
}

/** The snapshots of a VM, oldest first, and whether Proxmox can take another one. */
export interface VmSnapshots {
  readonly list: readonly Snapshot[];
  /** Proxmox's own answer for all disks together. */
  readonly isPossible: boolean;
  /** By name, the configuration that each one holds; read only where a plan depends on it. */
  readonly configs: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** Rule [recorded snapshots]: 2 to 40 characters; two names are sections of the configuration file already. */
export function nameProblem(name: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_-]+$/.test(name)) {
    return 'begins with a letter, and has at least one more letter, digit, _ or -';
  }
  if (name.length > MOST_CHARACTERS) return `has at most ${MOST_CHARACTERS} characters`;
  if (name === 'current' || name.toLowerCase() === 'pending')
    return 'is not "current" or "pending", which Proxmox uses';
  return undefined;
}

const MOST_CHARACTERS = 40;

/** Which run took a snapshot, and why; the last line of its description. */
export interface SnapshotMark {
  readonly why: 'before_change' | 'asked';
  readonly stack: string;
  readonly address: string;
  readonly run: string;
}

export function describeSnapshot(text: string | undefined, { why, stack, address, run }: SnapshotMark): string {
  const line = `${OWNERSHIP_PREFIX}snapshot=${why} stack=${stack} address=${address} run=${run}`;
  return text === undefined || text.trim() === '' ? line : `${text.trimEnd()}\n${line}`;
}

const MARK = /^proxwright: snapshot=(before_change|asked) stack=(\S+) address=(\S+) run=(\S+)$/;

/** Undefined if Proxwright did not take it. */
export function markOf(description: string): SnapshotMark | undefined {
  const [, why, stack, address, run] = MARK.exec(description.trimEnd().split('\n').at(-1) ?? '') ?? [];
  if (stack === undefined || address === undefined || run === undefined) return undefined;
  return { why: why === 'asked' ? 'asked' : 'before_change', stack, address, run };
}

/** The part that the user wrote. */
export function textOf(description: string): string {
  return markOf(description) ? description.trimEnd().split('\n').slice(0, -1).join('\n') : description;
}

const AUTOMATIC_PREFIX = 'proxwright-';

export function automaticName(run: string): string {
  return `${AUTOMATIC_PREFIX}${run}`;
}

/** One that an apply of this stack took before a change: both its name and its description must say so. */
export function isAutomatic({ name, description }: Pick<Snapshot, 'name' | 'description'>, stack: string): boolean {
  const mark = markOf(description);
  return name.startsWith(AUTOMATIC_PREFIX) && mark?.why === 'before_change' && mark.stack === stack;
}

/** Keys that every rollback changes, or that a configuration and a snapshot of it do not share. */
const NOT_COMPARED =
  /^(digest|description|parent|lock|snaptime|snapstate|vmstate|machine|runningmachine|runningcpu|running-nets-host-mtu|vmgenid|unused\d+)$/;

/** What a rollback changes, or failed to restore. */
export function differingKeys(then: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const keys = [...new Set([...then.keys(), ...now.keys()])].filter((key) => !NOT_COMPARED.test(key));
  return keys.filter((key) => then.get(key) !== now.get(key)).sort();
}

/** Oldest first, without the entry for the VM itself. */
export function snapshotsIn(entries: readonly SnapshotEntry[]): Snapshot[] {
  return entries
    .filter(({ name }) => name !== 'current')
    .map(({ name, description = '', snaptime, parent, vmstate, snapstate }) => ({
      name,
      description,
      takenAt: snaptime === undefined ? undefined : snaptime * 1000,
      parent,
      hasMemory: vmstate ?? false,
      state: snapstate,
    }))
    .sort((one, other) => (one.takenAt ?? 0) - (other.takenAt ?? 0));
}
