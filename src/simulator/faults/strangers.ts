/**
 * Somebody else at work on the same cluster: edits a configuration, locks a VM, takes an id. A stranger keeps to the same
 * rules as everybody: the flock is respected, and what he writes is written and re-read like any other file.
 */
import type { Runtime } from '../core/runtime.ts';
import { createVm, draftOf, emptyDraft, saveConfig, writtenConfig } from '../vm/config-file.ts';
import type { ConfigDraft } from '../vm/config-text.ts';
import { vmLockName, withVmLock } from '../vm/locking.ts';
import type { Vm } from '../world/world.ts';

/** Keys that take effect at once even while the VM runs; the others would wait in [PENDING]. */
const IMMEDIATE_KEYS = new Set(['description', 'tags', 'onboot', 'protection', 'name']);

export function editConfig(runtime: Runtime, vm: Vm, values: Readonly<Record<string, string>>): void {
  change(runtime, vm, (draft) => {
    if (draft.current.has('lock')) return;
    for (const [key, value] of Object.entries(values)) {
      (vm.process && !IMMEDIATE_KEYS.has(key) ? draft.pending : draft.current).set(key, value);
    }
  });
}

/** Sets the `lock` property, as a backup does, and takes it away again after `forMs`, if that is ever. */
export function lockVm(runtime: Runtime, vm: Vm, lock: string, forMs?: number): void {
  change(runtime, vm, (draft) => {
    if (draft.current.has('lock')) return;
    draft.current.set('lock', lock);
    if (forMs !== undefined) {
      runtime.clock.sleep(forMs).then(
        () => unlockVm(runtime, vm, lock),
        () => {},
      );
    }
  });
}

export function unlockVm(runtime: Runtime, vm: Vm, lock: string): void {
  change(runtime, vm, (draft) => {
    if (draft.current.get('lock') === lock) draft.current.delete('lock');
  });
}

/** Somebody else's VM appears under an id that was free a moment ago. */
export function takeId(runtime: Runtime, node: string, vmid: number): void {
  if (runtime.world.vms.has(vmid)) return;
  const draft = emptyDraft();
  draft.current = new Map([
    ['name', `somebody-elses-${vmid}`],
    ['memory', '512'],
    ['ostype', 'l26'],
  ]);
  createVm(runtime, node, vmid, writtenConfig(draft));
}

/** At once when nobody holds the flock, so that a request met on its way finds the change; otherwise when it is free. */
function change(runtime: Runtime, vm: Vm, edit: (draft: ConfigDraft) => void): void {
  const save = () => {
    if (runtime.world.vms.get(vm.vmid) !== vm) return;
    const draft = draftOf(vm.config);
    edit(draft);
    saveConfig(vm, draft);
  };
  if (runtime.locks.isFree(vmLockName(vm.node, vm.vmid), 'exclusive')) save();
  // A stranger who waits too long gives up, like everybody.
  else withVmLock(runtime, vm.node, vm.vmid, {}, save).catch(() => {});
}
