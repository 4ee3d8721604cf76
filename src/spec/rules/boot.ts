/** A boot order names devices that the VM will have. The template's devices are not known here, so clones may name any. */
import { slotsThatStay, type VmRule } from './rule.ts';

export const bootDevicesExist: VmRule = {
  reads: [
    'boot',
    'disks.*.remove',
    'nics.*.remove',
    'usb.*.mapping',
    'pci.*.mapping',
    'cloud_init.storage',
    'cloud_init.slot',
    'clone.template',
  ],
  *check(vm) {
    const { boot = [], disks, nics, usb, pci, cloud_init, clone } = vm.fields;
    const own = new Set([
      ...slotsThatStay(disks),
      ...slotsThatStay(nics),
      ...Object.keys(usb ?? {}),
      ...Object.keys(pci ?? {}),
      ...(cloud_init?.storage === undefined ? [] : [cloud_init.slot ?? 'ide2']),
    ]);
    for (const [index, device] of boot.entries()) {
      const path = `boot.${index}`;
      const isRemoved = disks?.[device]?.remove || nics?.[device]?.remove;
      if (boot.indexOf(device) < index) {
        yield { vm, path, detail: `The boot order names "${device}" twice.` };
      } else if (isRemoved) {
        yield {
          vm,
          path,
          detail: `The boot order names "${device}", which this VM removes.`,
          hint: 'Remove it from "boot".',
        };
      } else if (!clone && !own.has(device)) {
        yield {
          vm,
          path,
          detail: `The boot order names "${device}", which this VM will not have.`,
          hint: own.size === 0 ? 'Add the device, or remove it from "boot".' : `It has: ${[...own].join(', ')}.`,
        };
      }
    }
  },
};
