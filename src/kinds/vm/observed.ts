/** A VM as the cluster reports it: one read of …/pending gives values in effect, pending changes, digest and uuid. */

import { ProxwrightError } from '../../base/errors.ts';
import type { Pve } from '../../pve/client.ts';
import type { PendingEntry } from '../../pve/index.ts';
import { fromWireBoolean } from '../../pve/wire/index.ts';
import { isDriveKey, parseDrive } from './config/disks.ts';
import { printPropertyOf, propertyOf } from './config/parts.ts';

export interface VmObserved {
  readonly vmid: number;
  readonly node: string;
  /** The uuid in smbios1: with the id, the VM's identity. */
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

/** Proxmox has not finished creating the VM: disks are missing, and often the rest of the configuration too. */
export function isHalfMade({ lock }: { readonly lock?: string | undefined }): boolean {
  return lock === 'clone' || lock === 'create';
}

type Values = Pick<VmObserved, 'current' | 'pending' | 'pendingDeletes'>;

/** The values after a restart, with pending changes merged in. Desired values are compared with these. */
export function effectiveValues(vm: Values): Map<string, string> {
  const merged = new Map([...vm.current, ...vm.pending]);
  for (const key of vm.pendingDeletes) if (!vm.pending.has(key)) merged.delete(key);
  for (const [key, size] of staleSizes(vm)) {
    merged.set(key, printPropertyOf(key, propertyOf(key, vm.pending.get(key)).with('size', size)));
  }
  return merged;
}

/**
 * Disks whose pending value has an old size. A resize writes the new size only to the values in effect, so a change
 * that was pending before would restore the old size at the next restart, and no later resize would correct it.
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

interface ReadOptions {
  /** Known from a list; otherwise one more request reads it. */
  readonly running?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly maxAgeMs?: number | undefined;
}

export async function readVm(pve: Pve, node: string, vmid: number, options: ReadOptions = {}): Promise<VmObserved> {
  const { signal, maxAgeMs } = options;
  const vm = pve.node(node).vm(vmid);
  const [entries, running] = await Promise.all([
    vm.pending({ signal, maxAgeMs }),
    options.running ?? vm.status.current({ signal }).then(({ status }) => status === 'running'),
  ]);
  return observedOf(node, vmid, entries, running);
}

export function observedOf(node: string, vmid: number, entries: readonly PendingEntry[], running: boolean): VmObserved {
  const current = new Map<string, string>();
  const pending = new Map<string, string>();
  const pendingDeletes = new Set<string>();
  for (const entry of entries) {
    if (entry.value !== undefined) current.set(entry.key, entry.value);
    if (entry.pending !== undefined) pending.set(entry.key, entry.pending);
    if (entry.delete) pendingDeletes.add(entry.key);
  }
  const digest = current.get('digest');
  current.delete('digest');
  if (digest === undefined) {
    throw new ProxwrightError({
      code: 'BAD_ANSWER',
      detail: `The configuration of VM ${vmid} came without its digest, so writes could not be guarded against other clients.`,
    });
  }
  return {
    vmid,
    node,
    uuid: propertyOf('smbios1', current.get('smbios1')).get('uuid'),
    digest,
    current,
    pending,
    pendingDeletes,
    running,
    lock: current.get('lock'),
    template: fromWireBoolean(current.get('template') ?? '0') ?? false,
  };
}
