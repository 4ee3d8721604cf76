/** Rules for the virtual machine as a whole: sizes, boot order, firmware, and raw keys. */

import { advice, setting } from '../../../base/hint.ts';
import { didYouMean } from '../../../base/text/closest.ts';
import { printByteSize } from '../../../base/values/units.ts';
import { desiredConfig } from '../config/desired-config.ts';
import { configKeys, isModelledKey, rowsOfKey } from '../fields/rows.ts';
import { OWNERSHIP_PREFIX } from '../identity.ts';
import { ownershipLines } from '../ownership.ts';
import type { ResolvedVm } from '../stack.ts';
import { slotsThatStay, type Violation, type VmRule } from './rule.ts';

/** Ownership lines in the notes are ours: one in the file would be taken for ours and never be found as written. */
export const notesHaveNoOwnershipLine: VmRule = {
  reads: ['description'],
  *check(vm) {
    if (ownershipLines(vm.fields.description ?? '').length === 0) return;
    yield {
      vm,
      path: 'description',
      detail: `"description" contains an ownership line, "${OWNERSHIP_PREFIX}stack=…". Proxwright writes the one of this VM itself.`,
      hint: 'Remove that line from the text.',
    };
  },
};

/** Proxmox: "balloon value too large (must be smaller than assigned memory)". */
export const balloonFitsMemory: VmRule = {
  reads: ['memory', 'balloon'],
  *check(vm) {
    const { memory, balloon } = vm.fields;
    if (typeof balloon !== 'number' || memory === undefined || balloon <= memory) return;
    yield {
      vm,
      path: 'balloon',
      detail: `"balloon" is the minimum memory of the guest; ${printByteSize(balloon)} is more than "memory", ${printByteSize(memory)}.`,
    };
  },
};

export const vcpusFitCores: VmRule = {
  reads: ['cpu', 'clone.template'],
  *check(vm) {
    const { cpu, clone } = vm.fields;
    // A clone keeps the template's value for what it does not set.
    const [cores, sockets] = [cpu?.cores ?? (clone ? undefined : 1), cpu?.sockets ?? (clone ? undefined : 1)];
    if (cpu?.vcpus === undefined || cores === undefined || sockets === undefined || cpu.vcpus <= cores * sockets)
      return;
    yield {
      vm,
      path: 'cpu.vcpus',
      detail: `${cpu.vcpus} virtual CPUs do not fit into ${sockets} socket(s) of ${cores} core(s).`,
    };
  },
};

/** A boot order names devices that the VM will have. The template's devices are not known here, so clones may name any. */
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

/** Raw keys that users cannot set: those with their own field, request parameters, and the VM's identity. */
const NOT_CONFIGURATION = new Set([
  'vmid',
  'node',
  'digest',
  'delete',
  'revert',
  'force',
  'skiplock',
  'background_delay',
  'lock',
  'template',
  'archive',
  'storage',
  'start',
  'unique',
  'live-restore',
  'import-working-storage',
  'bwlimit',
  'pool',
  'meta',
  'parent',
  'snaptime',
  'vmstate',
  'pending',
  'runningcpu',
  'runningmachine',
  'running-nets-host-mtu',
]);
/** They identify a VM. */
const IDENTITY = new Set(['smbios1', 'vmgenid']);

/** Keys that had no field at first: files that set them raw keep working, with a warning that names the field. */
const FIELD_CAME_LATER =
  /^(acpi|affinity|allow-ksm|amd-sev|args|audio0|cicustom|hookscript|hugepages|intel-tdx|keephugepages|keyboard|kvm|localtime|migrate_(downtime|speed)|numa[0-7]|spice_enhancements|tdf|virtiofs[0-9]|watchdog)$/;

/** Other names of keys that have fields; Proxmox stores their values under the key. */
const ALIASES: Readonly<Record<string, { readonly key: string; readonly field: string }>> = {
  cdrom: { key: 'ide2', field: 'disks.ide2.iso' },
  smp: { key: 'sockets', field: 'cpu.sockets' },
};

export const extraKeysAreFree: VmRule = {
  reads: ['extra'],
  *check(vm) {
    for (const key of Object.keys(vm.fields.extra ?? {})) {
      const path = `extra.${key}`;
      if (IDENTITY.has(key)) {
        yield {
          vm,
          path,
          detail: `"${key}" is part of the VM’s identity, which only Proxmox sets.`,
          ...(key === 'smbios1' && { hint: 'Its texts are in "smbios".' }),
        };
      } else if (isModelledKey(key)) {
        yield* modelledKey(vm, key);
      } else if (Object.hasOwn(ALIASES, key)) {
        const alias = ALIASES[key];
        yield {
          vm,
          path,
          detail: `"${key}" is another name of Proxmox for "${alias?.key}", which has its own field.`,
          hint: `Use ${alias?.field}.`,
        };
      } else if (NOT_CONFIGURATION.has(key) || /^unused\d+$/.test(key)) {
        yield { vm, path, detail: `"${key}" is not a setting of a VM’s configuration.` };
      } else if (!configKeys().has(key)) {
        const hint = didYouMean(key, configKeys()) ?? 'The man page of qm lists the keys that Proxmox has.';
        yield { vm, path, detail: `Proxmox VE has no configuration key "${key}".`, hint };
      }
    }
  },
};

function* modelledKey(vm: ResolvedVm, key: string): Iterable<Violation> {
  const fields = rowsOfKey(key).map((row) => row.path.replace('*', key));
  const named = desiredConfig({ ...vm.fields, extra: undefined }, {}).get(key)?.fields[0]?.path;
  const hint = fields.length > 3 ? `Use ${fields[0]?.split('.')[0]}.` : `Use ${fields.join(', ')}.`;
  const path = `extra.${key}`;
  if (named !== undefined) {
    yield { vm, path, detail: `"${key}" is set twice: here, and by "${named}".`, hint: 'Remove it from "extra".' };
  } else if (FIELD_CAME_LATER.test(key)) {
    yield {
      vm,
      path,
      detail: `"${key}" now has its own field; the raw key still works.`,
      hint,
      severity: 'warning',
    };
  } else {
    yield { vm, path, detail: `"${key}" has its own field, so it cannot be set as a raw key.`, hint };
  }
}
