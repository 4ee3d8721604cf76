/** Rules for how a VM is created: by a clone, from an image, or empty. */
import { advice, setting } from '../../base/hint.ts';
import type { DiskFields } from '../../kinds/vm/fields/disks.ts';
import type { VmRule } from './rule.ts';

/** A linked clone shares the template's volumes, so it has nothing to place or convert. */
export const linkedCloneStaysPut: VmRule = {
  reads: ['clone'],
  *check(vm) {
    const { clone } = vm.fields;
    if (clone?.mode !== 'linked') return;
    for (const field of ['storage', 'format'] as const) {
      if (clone[field] === undefined) continue;
      yield {
        vm,
        path: `clone.${field}`,
        detail: `A linked clone takes no "${field}": it shares the template’s disks and lives on their storage.`,
        hint: advice`Remove "${field}" (or write ${setting(field, null)} to undo a default), or write ${setting('mode', 'full')}.`,
      };
    }
  },
};

/** Without a template, a slot is created only from what the file says. */
export const newDisksAreComplete: VmRule = {
  reads: ['disks.*.remove', 'disks.*.iso', 'disks.*.storage', 'disks.*.size', 'disks.*.import_from', 'clone.template'],
  *check(vm) {
    for (const [slot, disk] of Object.entries(vm.fields.disks ?? {})) {
      const path = `disks.${slot}`;
      if (disk.remove || disk.iso !== undefined) continue;
      if (disk.import_from !== undefined && disk.storage === undefined) {
        yield { vm, path, detail: `"${slot}" is imported, but "storage" is not set.` };
      } else if (!vm.fields.clone && (disk.storage === undefined || !isMade(disk))) {
        yield {
          vm,
          path,
          detail: `"${slot}" would be new, because the VM is not cloned, but the file does not say ${disk.storage === undefined ? 'on which storage' : 'how large'} it is.`,
          hint: 'A new disk needs storage and size, or storage and import_from. A CD drive needs iso.',
        };
      }
    }
  },
};

function isMade({ size, import_from }: DiskFields): boolean {
  return size !== undefined || import_from !== undefined;
}
