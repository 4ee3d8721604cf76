/** PCI addresses of a stack: a token may use a device only through a mapping, so each address is turned into one. Pure. */
import type { Diagnostic } from '../base/diagnostics.ts';
import { AuthError, SpecError } from '../base/errors.ts';
import { splitProperty } from '../pve/wire/index.ts';
import type { ResolvedVm } from '../spec/types.ts';
import type { Observed } from './observed.ts';
import { whereOf } from './where.ts';

/** Address as the file gives it → the mapping that stands for it on the VM's node. */
export function pciMappingsFor(vm: ResolvedVm, observed: Observed): Map<string, string> {
  const found = new Map<string, string>();
  if (!observed.pciMappings.ok) return found;
  for (const { device } of Object.values(vm.fields.pci ?? {})) {
    if (device === undefined) continue;
    for (const [id, entries] of observed.pciMappings.value) {
      if (entries.some((entry) => standsFor(entry, vm.fields.node, device))) found.set(device, id);
    }
  }
  return found;
}

/** Devices for which nobody has made a mapping, with the ways out. */
export function unmappedDevices(vm: ResolvedVm, observed: Observed): Diagnostic[] {
  const mapped = pciMappingsFor(vm, observed);
  return Object.entries(vm.fields.pci ?? {}).flatMap(([slot, { device }]) => {
    if (device === undefined || mapped.has(device)) return [];
    const where = whereOf(vm, `pci.${slot}.device`);
    if (!observed.pciMappings.ok) {
      return [
        new AuthError({
          code: 'PRIVILEGE_MISSING',
          where,
          detail: `PCI device ${device} can be used only through a mapping, and the token sees none: it needs ${observed.pciMappings.needs}.`,
          hint: 'Grant Mapping.Use on the mapping, and name it: pci.<slot>.mapping',
        }).diagnostic,
      ];
    }
    return [
      new SpecError({
        code: 'MISSING_REFERENCE',
        where,
        detail: `No PCI mapping stands for ${device} on ${vm.fields.node}; Proxmox lets only root@pam with a password name a device by its address.`,
        hint: `Create one (Mapping.Modify): pvesh create /cluster/mapping/pci --id NAME --map node=${vm.fields.node},path=${withDomain(device)},id=VENDOR:DEVICE. Then it is found by itself.`,
      }).diagnostic,
    ];
  });
}

function standsFor(entry: string, node: string, device: string): boolean {
  const parts = new Map(splitProperty(entry).map(({ key, value }) => [key, value]));
  return parts.get('node') === node && samePath(parts.get('path') ?? '', device);
}

/** `01:00` and `0000:01:00` are the same device; with a function (`.0`) it is a part of it. */
function samePath(mapped: string, device: string): boolean {
  return mapped.split(';').some((path) => withDomain(path) === withDomain(device));
}

function withDomain(path: string): string {
  const lower = path.toLowerCase();
  return /^[0-9a-f]{4}:/.test(lower) ? lower : `0000:${lower}`;
}
