/** A VM as the cluster shows it: one read of …/pending gives values in effect, pending changes, digest and uuid. */
import { isDriveKey, parseDrive } from './disks.ts';
import { printPropertyOf, propertyOf } from './parts.ts';

export interface VmObserved {
  readonly vmid: number;
  readonly node: string;
  /** The uuid in smbios1: with the id, what makes a VM this VM. */
  readonly uuid: string | undefined;
  readonly digest: string;
  /** Values in effect. */
  readonly current: ReadonlyMap<string, string>;
  /** Values waiting for a restart. */
  readonly pending: ReadonlyMap<string, string>;
  readonly pendingDeletes: ReadonlySet<string>;
  readonly running: boolean;
  readonly lock: string | undefined;
  readonly template: boolean;
}

type Values = Pick<VmObserved, 'current' | 'pending' | 'pendingDeletes'>;

/** What will hold after a restart: pending merged in. This is what a desired value is compared with. */
export function effectiveValues(vm: Values): Map<string, string> {
  const merged = new Map([...vm.current, ...vm.pending]);
  for (const key of vm.pendingDeletes) if (!vm.pending.has(key)) merged.delete(key);
  for (const [key, size] of staleSizes(vm)) {
    merged.set(key, printPropertyOf(key, propertyOf(key, vm.pending.get(key)).with('size', size)));
  }
  return merged;
}

/**
 * Disks whose pending text tells an old size. A resize writes the new size beside the values in effect only, so a change
 * that was pending before would bring the old one back at the next restart, and no later resize would mend it.
 */
export function staleSizes(vm: Values): Map<string, string> {
  const stale = new Map<string, string>();
  for (const [key, text] of vm.pending) {
    const before = vm.current.get(key);
    if (before === undefined || !isDriveKey(key)) continue;
    const [current, pending] = [parseDrive(key, before), parseDrive(key, text)];
    const size = current.value.get('size');
    const isOlder = current.file === pending.file && (current.sizeBytes ?? 0) > (pending.sizeBytes ?? 0);
    if (isOlder && size !== undefined) stale.set(key, size);
  }
  return stale;
}
