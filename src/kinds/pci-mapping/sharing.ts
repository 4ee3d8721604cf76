/** One PCI device serves one running VM: two that want the same are refused before anything is made. Pure. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, setting } from '../../base/hint.ts';
import type { Observed } from '../observed.ts';
import type { ResolvedVm } from '../stack.ts';
import { whereOf } from '../vm/where.ts';
import { mappedPaths, pciPath, pciPathsOverlap } from './mapping.ts';

/** A slot of a VM that takes a device for itself. */
interface Claim {
  readonly vm: ResolvedVm;
  readonly field: string;
  readonly path: string;
}

/** Among all VMs of the file; a clash is told where it concerns one of `selected`. */
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
    // A mediated device is a share of a device, made to be given to several.
    if (mdev !== undefined) return [];
    if (device !== undefined) return [{ vm, field: `pci.${slot}.device`, path: pciPath(device) }];
    const map = pciMappings.ok && mapping !== undefined ? pciMappings.value.get(mapping) : undefined;
    const [path, ...others] = mappedPaths(map ?? [], vm.fields.node);
    // Of several devices each VM gets one that is free.
    return path === undefined || others.length > 0 ? [] : [{ vm, field: `pci.${slot}.mapping`, path }];
  });
}

/** VMs of which one is to stay off may take turns. */
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
      : `PCI device ${second.path}, of which ${first.path} is a part or the whole,`;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOf(second.vm, second.field),
    detail:
      first.vm === second.vm
        ? `${device} of ${second.vm.fields.node} is given twice to ${second.vm.address}: also in ${first.field}${line === undefined ? '' : ` (${file}:${line})`}.`
        : `${device} of ${second.vm.fields.node} is given to ${place} too; Proxmox starts only one of them.`,
    hint: advice`Give each VM a device of its own, or keep all but one of them off: ${setting('power', 'stopped')}`,
  }).diagnostic;
}
