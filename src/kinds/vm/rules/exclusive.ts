/** Fields that exclude each other, or that need another one. */

import { rowsOfDiskOption } from '../fields/rows.ts';
import type { ResolvedVm } from '../stack.ts';
import type { Violation, VmRule } from './rule.ts';

/** Written keys of a part, in the order of the file. */
function written(part: object): string[] {
  return Object.entries(part).flatMap(([key, value]) => (value === undefined ? [] : [key]));
}

export const removeStandsAlone: VmRule = {
  reads: ['disks.*.remove', 'nics.*.remove'],
  *check(vm) {
    for (const [kind, slots] of [['disks', vm.fields.disks] as const, ['nics', vm.fields.nics] as const]) {
      for (const [slot, part] of Object.entries(slots ?? {})) {
        const others = written(part).filter((key) => key !== 'remove');
        if (!part.remove || others.length === 0) continue;
        yield {
          vm,
          path: `${kind}.${slot}.remove`,
          detail: `"${slot}" has remove: true and other settings at the same time (${others.join(', ')}).`,
          hint: 'Keep one of the two.',
        };
      }
    }
  },
};

export const cdDriveIsNoDisk: VmRule = {
  reads: ['disks.*.iso', 'disks.*.remove'],
  *check(vm) {
    for (const [slot, disk] of Object.entries(vm.fields.disks ?? {})) {
      if (disk.iso === undefined || disk.remove) continue;
      const others = written(disk).filter(
        (key) => key === 'keep' || rowsOfDiskOption(key).some(({ facts }) => facts.on === 'disk'),
      );
      if (others.length > 0) {
        yield {
          vm,
          path: `disks.${slot}.${others[0]}`,
          detail: `"${slot}" is a CD drive, because it holds an ISO; it cannot have ${others.map((key) => `"${key}"`).join(', ')}.`,
        };
      }
    }
  },
};

/** Proxmox rejects options that a bus does not support. */
export const optionsFitTheBus: VmRule = {
  reads: ['disks'],
  *check(vm) {
    for (const [slot, disk] of Object.entries(vm.fields.disks ?? {})) {
      const bus = slot.replace(/\d+$/, '');
      for (const option of written(disk)) {
        const buses = rowsOfDiskOption(option).flatMap(({ facts }) => facts.buses ?? []);
        if (buses.length === 0 || buses.some((each) => each === bus)) continue;
        yield {
          vm,
          path: `disks.${slot}.${option}`,
          detail: `Disks on the ${bus} bus have no "${option}".`,
          hint: `Leave it out, or use a slot on one of these buses: ${buses.join(', ')}.`,
        };
      }
    }
  },
};

export const devicesNameOneSource: VmRule = {
  reads: ['pci.*.mapping', 'pci.*.device', 'usb.*.mapping', 'usb.*.spice', 'clone.template'],
  *check(vm) {
    for (const [slot, { mapping, device }] of Object.entries(vm.fields.pci ?? {})) {
      yield* oneSource(vm, `pci.${slot}`, { mapping, device });
    }
    for (const [slot, { mapping, spice }] of Object.entries(vm.fields.usb ?? {})) {
      yield* oneSource(vm, `usb.${slot}`, { mapping, spice });
    }
  },
};

function* oneSource(vm: ResolvedVm, path: string, sources: Readonly<Record<string, unknown>>): Iterable<Violation> {
  const [names, given] = [Object.keys(sources).map((key) => `"${key}"`), written(sources)];
  if (given.length > 1) {
    yield { vm, path, detail: `${names.join(' and ')} cannot be used together; "${path}" has both.` };
  } else if (given.length === 0 && !vm.fields.clone) {
    // A clone may inherit the device and change only its options.
    yield { vm, path, detail: `"${path}" does not name a device.`, hint: `Give it ${names.join(' or ')}.` };
  }
}
