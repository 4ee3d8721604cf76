/** Refuses two running VMs with the same PCI device before anything is created. Pure. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, setting } from '../../base/hint.ts';
import { whereOf } from '../fields/positions.ts';
import type { Observed } from '../observed.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { mappedPaths, pciPath, pciPathsOverlap } from './mapping.ts';

/** A slot of a VM that uses a device exclusively. */
interface Claim {
  readonly vm: ResolvedVm;
  readonly field: string;
  readonly path: string;
}

/** Compares all VMs of the file, and reports conflicts of the `selected` ones. */
export function devicesUsedTwice(
  vms: readonly ResolvedVm[],
  selected: readonly ResolvedVm[],
  observed: Observed,
): Diagnostic[] {
  const claims = vms.flatMap((vm) => claimsOf(vm, observed));
  return claims.flatMap((claim, index) => {
    const earlier = claims.slice(0, index).find((other) => clash(other, claim));
    const concerns = earlier && (selected.includes(claim.vm) || selected.includes(earlier.vm));
    return concerns ? [usedTwice(earlier, claim)] : [];
  });
}

function claimsOf(vm: ResolvedVm, { pciMappings }: Observed): Claim[] {
  return Object.entries(vm.fields.pci ?? {}).flatMap(([slot, { device, mapping, mdev }]): Claim[] => {
    // Several VMs can share a device by mediated devices.
    if (mdev !== undefined) return [];
    if (device !== undefined) return [{ vm, field: `pci.${slot}.device`, path: pciPath(device) }];
    const map = pciMappings.ok && mapping !== undefined ? pciMappings.value.get(mapping) : undefined;
    const [path, ...others] = mappedPaths(map ?? [], vm.fields.node);
    // With several devices in a mapping, each VM gets a free one.
    return path === undefined || others.length > 0 ? [] : [{ vm, field: `pci.${slot}.mapping`, path }];
  });
}

/** VMs that do not run at the same time may use the same device. */
function clash(a: Claim, b: Claim): boolean {
  if (a.vm.fields.node !== b.vm.fields.node || !pciPathsOverlap(a.path, b.path)) return false;
  return a.vm === b.vm || (a.vm.fields.power === 'running' && b.vm.fields.power === 'running');
}

function usedTwice(first: Claim, second: Claim): Diagnostic {
  const { file, line, address } = whereOf(first.vm, first.field);
  const place = line === undefined ? `${address}` : `${address} (${file}:${line})`;
  const device =
    first.path === second.path
      ? `PCI device ${second.path}`
      : `PCI device ${second.path}, which contains ${first.path} or is part of it,`;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOf(second.vm, second.field),
    detail:
      first.vm === second.vm
        ? `${device} of ${second.vm.fields.node} is given twice to ${second.vm.address}: also in ${first.field}${line === undefined ? '' : ` (${file}:${line})`}.`
        : `${device} of ${second.vm.fields.node} is also given to ${place}; Proxmox starts only one of them.`,
    hint: advice`Give each VM its own device, or keep all but one of them stopped: ${setting('power', 'stopped')}`,
  }).diagnostic;
}
