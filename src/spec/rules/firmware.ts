/** Firmware, EFI disk and machine type must match. */
import { advice, setting } from '../../base/hint.ts';
import type { VmRule } from './rule.ts';

export const efiNeedsOvmf: VmRule = {
  reads: ['efi', 'bios', 'clone.template'],
  *check(vm) {
    const { efi, bios, clone } = vm.fields;
    // A clone without bios in the file has the template's.
    const isSeabios = bios === 'seabios' || (bios === undefined && !clone);
    if (efi && isSeabios) {
      yield {
        vm,
        path: 'efi',
        detail: `An EFI disk needs the OVMF firmware; this VM has SeaBIOS${bios === undefined ? ', the server’s default' : ''}.`,
        hint: advice`Write ${setting('bios', 'ovmf')}, or remove "efi".`,
      };
    }
    if (bios === 'ovmf' && !efi && !clone) {
      yield {
        vm,
        path: 'bios',
        severity: 'warning',
        detail: 'With OVMF and no EFI disk, the VM loses its boot entries each time it stops.',
        hint: advice`Write ${setting('efi', { storage: '…' })}.`,
      };
    }
  },
};

/** Proxmox would report this only at the start: "q35 machine model is not enabled". */
export const pcieNeedsQ35: VmRule = {
  reads: ['pci.*.pcie', 'machine', 'clone.template'],
  *check(vm) {
    const { pci, machine, clone } = vm.fields;
    const isKnownOther = machine === undefined ? !clone : !/q35/.test(machine);
    if (!isKnownOther) return;
    for (const [slot, { pcie }] of Object.entries(pci ?? {})) {
      if (!pcie) continue;
      yield {
        vm,
        path: `pci.${slot}.pcie`,
        detail: `PCI Express needs the machine type q35; this VM has ${machine ?? 'pc, the server’s default'}.`,
        hint: advice`Write ${setting('machine', 'q35')}, or remove "pcie".`,
      };
    }
  },
};
