/**
 * PCI addresses of a stack. A token may use a device only through a mapping, so each address resolves to an existing
 * mapping, or to one that the plan creates if the token may; otherwise the plan is refused, with both remedies. Pure.
 */

import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { nodeCommand } from '../../base/text/node-command.ts';
import { whereOf } from '../fields/positions.ts';
import type { Observed } from '../observed.ts';
import { propertyOf } from '../vm/config/parts.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import {
  mappedPaths,
  mapsExactly,
  type PciHardware,
  type PciMapStep,
  pciMappingEntry,
  pciMappingName,
  pciMapStep,
  pciPath,
} from './mapping.ts';

/** Observed mappings, devices, and the VMs that use them. */
export type ObservedPci = Pick<Observed, 'pciMappings' | 'pciMaking' | 'vms'>;

type Resolution =
  /** The VM already has the device by its address, as the file says; only root can have set that. */
  | { readonly kind: 'kept' }
  | { readonly kind: 'existing'; readonly mapping: string }
  | { readonly kind: 'create'; readonly mapping: string; readonly entry: string; readonly mdev: boolean }
  | { readonly kind: 'refused'; readonly problem: Diagnostic };

interface DesiredDevice {
  readonly vm: ResolvedVm;
  readonly slot: string;
  /** As written in the file. */
  readonly device: string;
}

/** Address as written in the file → its mapping on the VM's node, now or after this plan. */
export function pciMappingsFor(vm: ResolvedVm, observed: ObservedPci): Map<string, string> {
  return new Map(
    desiredDevices(vm).flatMap((desired): [string, string][] => {
      const resolution = resolveDevice(desired, observed);
      return resolution.kind === 'existing' || resolution.kind === 'create'
        ? [[desired.device, resolution.mapping]]
        : [];
    }),
  );
}

/** Problems of devices that have no mapping and for which none can be created. */
export function unmappedDevices(vm: ResolvedVm, observed: Observed): Diagnostic[] {
  return desiredDevices(vm).flatMap((desired) => {
    const resolution = resolveDevice(desired, observed);
    return resolution.kind === 'refused' ? [resolution.problem] : [];
  });
}

/** The token that users of a mapping depend on. */
export function mappingToken(mapping: string): string {
  return `pci-mapping:${mapping}`;
}

/** Mappings that this VM waits for. */
export function mappingsUsed(vm: ResolvedVm, observed: ObservedPci): string[] {
  return [...pciMappingsFor(vm, observed).values()].map(mappingToken);
}

/** One step for each mapping that the plan creates. */
export function pciMapSteps(vms: readonly ResolvedVm[], observed: Observed): PciMapStep[] {
  const groups = new Map<string, { entries: Set<string>; mdev: boolean }>();
  for (const desired of vms.flatMap(desiredDevices)) {
    const resolution = resolveDevice(desired, observed);
    if (resolution.kind !== 'create') continue;
    const group = groups.get(resolution.mapping) ?? { entries: new Set(), mdev: resolution.mdev };
    group.entries.add(resolution.entry);
    groups.set(resolution.mapping, group);
  }
  return [...groups].map(([mapping, { entries, mdev }]) => pciMapStep({ mapping, map: [...entries], mdev }));
}

function desiredDevices(vm: ResolvedVm): DesiredDevice[] {
  return Object.entries(vm.fields.pci ?? {}).flatMap(([slot, { device }]) =>
    device === undefined ? [] : [{ vm, slot, device }],
  );
}

function resolveDevice(desired: DesiredDevice, observed: ObservedPci): Resolution {
  if (observedPart(desired, observed, 'host') === desired.device) return { kind: 'kept' };
  const mapping = findMapping(desired, observed);
  return mapping === undefined ? createMapping(desired, observed) : { kind: 'existing', mapping };
}

/** If several mappings fit, the VM keeps the one it has. */
function findMapping(desired: DesiredDevice, observed: ObservedPci): string | undefined {
  const { pciMappings } = observed;
  if (!pciMappings.ok) return undefined;
  const { node } = desired.vm.fields;
  const path = pciPath(desired.device);
  const names = [...pciMappings.value].flatMap(([id, map]) => (mapsExactly(map, node, path) ? [id] : []));
  const own = observedPart(desired, observed, 'mapping');
  return own !== undefined && names.includes(own) ? own : names.sort()[0];
}

/** What the VM has in this slot now. */
function observedPart({ vm, slot }: DesiredDevice, { vms }: ObservedPci, part: 'host' | 'mapping'): string | undefined {
  const observedVm = vms.get(vm.address);
  const now =
    observedVm?.kind === 'present' ? (observedVm.vm.pending.get(slot) ?? observedVm.vm.current.get(slot)) : undefined;
  // Proxmox's own page leaves the name of the address out: `0000:01:00,pcie=1`.
  return propertyOf(slot, now).get(part);
}

function createMapping(desired: DesiredDevice, observed: ObservedPci): Resolution {
  const { vm, device } = desired;
  const { node } = vm.fields;
  const path = pciPath(device);
  const { pciMappings, pciMaking } = observed;
  const missing = ['Mapping.Modify', 'Mapping.Use'].filter((name) => !pciMaking?.privileges.has(name));
  const devices = pciMaking?.devices.get(node);
  if (missing.length > 0)
    return refused(cannotCreate(desired, pciMappings.ok, `${missing.join(' and ')} on /mapping/pci`));
  if (!devices) return refused(cannotCreate(desired, true, `node ${node} to be online`));
  if (!devices.ok) return refused(cannotCreate(desired, true, devices.needs));
  // A whole device is identified by its first function.
  const first = /\.[0-7]$/.test(path) ? path : `${path}.0`;
  const hardware = devices.value.find((each) => each.path === first);
  if (!hardware) return refused(noSuchDevice(desired, devices.value));
  if (hardware.iommuGroup === undefined) return refused(noIommu(desired));
  const mapping = pciMappingName(path, hardware);
  const map = pciMappings.ok ? pciMappings.value.get(mapping) : undefined;
  if (map && mappedPaths(map, node).length > 0) return refused(nameTaken(desired, mapping));
  return { kind: 'create', mapping, entry: pciMappingEntry(node, path, hardware), mdev: hardware.mdev };
}

const refused = (problem: Diagnostic): Resolution => ({ kind: 'refused', problem });
const lineOf = ({ vm, slot }: DesiredDevice) => whereOf(vm, `pci.${slot}.device`);

/** Two remedies: grant the token the privileges to create a mapping, or have an administrator create it. */
function cannotCreate(desired: DesiredDevice, seesMappings: boolean, needs: string): Diagnostic {
  const { vm, device } = desired;
  const { node } = vm.fields;
  const init = {
    where: lineOf(desired),
    hint:
      'Let Proxwright create one: grant the token PVEMappingAdmin on /mapping/pci and Sys.Audit on /. ' +
      `Or create it as root: ${nodeCommand('pvesh create', ['/cluster/mapping/pci'], { id: 'NAME', map: `node=${node},path=${pciPath(device)},id=VENDOR:DEVICE` })} (ids: ${nodeCommand('pvesh get', [`/nodes/${node}/hardware/pci`])}), and grant the token Mapping.Use on it; Proxwright then finds it.`,
  };
  const why = 'Proxmox allows only root@pam with a password to name a device by its address';
  if (!seesMappings) {
    const detail = `PCI device ${device} can be used only through a mapping, and the token sees none: it needs ${needs}. ${why}.`;
    return new ProxwrightError({ ...init, code: 'PRIVILEGE_MISSING', detail }).diagnostic;
  }
  const detail = `No PCI mapping exists for ${device} on ${node}, and Proxwright cannot create one: that needs ${needs}. ${why}.`;
  return new ProxwrightError({ ...init, code: 'MISSING_REFERENCE', detail }).diagnostic;
}

function noSuchDevice(desired: DesiredDevice, devices: readonly PciHardware[]): Diagnostic {
  const { node } = desired.vm.fields;
  const there = devices.map(({ path, name }) => `${path}${name === '' ? '' : ` (${name})`}`);
  return new ProxwrightError({
    code: 'MISSING_REFERENCE',
    where: lineOf(desired),
    detail: `Node ${node} has no PCI device ${pciPath(desired.device)}; it has ${there.length > 0 ? there.join(', ') : 'none that can be passed through'}.`,
    hint: 'Correct the address, or place the VM on the node that has the device.',
  }).diagnostic;
}

function noIommu(desired: DesiredDevice): Diagnostic {
  const { node } = desired.vm.fields;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: lineOf(desired),
    detail: `PCI device ${pciPath(desired.device)} of ${node} is in no IOMMU group, so Proxmox cannot pass it through to a VM.`,
    hint: `Enable the IOMMU in the firmware of ${node} (VT-d, AMD-Vi) and on its kernel command line, then reboot the node.`,
  }).diagnostic;
}

function nameTaken(desired: DesiredDevice, mapping: string): Diagnostic {
  const { node } = desired.vm.fields;
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    where: lineOf(desired),
    detail: `The PCI mapping ${mapping} exists, but on ${node} it is not for ${pciPath(desired.device)} alone: it was changed outside Proxwright.`,
    hint: `Correct it under Datacenter, Resource Mappings, or name a mapping in the file: pci.${desired.slot}.mapping`,
  }).diagnostic;
}
