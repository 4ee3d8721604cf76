/** Reads a VM: one answer of …/pending holds values in effect, pending changes, digest and uuid. */
import { ProxwrightError } from '../../base/errors.ts';
import type { Pve } from '../../pve/client.ts';
import type { PendingEntry } from '../../pve/index.ts';
import { fromWireBoolean } from '../../pve/wire/index.ts';
import type { VmObserved } from './observed.ts';
import { propertyOf } from './parts.ts';

export interface ReadOptions {
  /** Known from a list; otherwise one more request asks for it. */
  readonly running?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export async function readVm(pve: Pve, node: string, vmid: number, options: ReadOptions = {}): Promise<VmObserved> {
  const { signal } = options;
  const vm = pve.node(node).vm(vmid);
  const [entries, running] = await Promise.all([
    vm.pending({ signal }),
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
      detail: `The configuration of VM ${vmid} came without its digest, so a change of it could not be guarded.`,
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
