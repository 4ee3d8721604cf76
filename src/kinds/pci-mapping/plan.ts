/**
 * PCI addresses of a stack: a token may use a device only through a mapping, so each address is turned into one that is
 * there, or that the plan makes where the token may; otherwise it is refused, with the ways out. Pure.
 */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { splitProperty } from '../../pve/wire/index.ts';
import type { Observed } from '../observed.ts';
import type { ResolvedVm } from '../stack.ts';
import { whereOf } from '../vm/where.ts';
import {
  mappedPaths,
  type PciHardware,
  type PciMapStep,
  pciMappingEntry,
  pciMappingName,
  pciMapStep,
  pciPath,
  standsFor,
} from './mapping.ts';

/** What is known of devices and of the VMs that have them. */
export type PciSight = Pick<Observed, 'pciMappings' | 'pciMaking' | 'vms'>;

type Answer =
  /** The VM has the device by its address, which only root can have given it; that is what the file says. */
  | { readonly kind: 'kept' }
  | { readonly kind: 'found'; readonly mapping: string }
  | { readonly kind: 'make'; readonly mapping: string; readonly entry: string; readonly mdev: boolean }
  | { readonly kind: 'refused'; readonly problem: Diagnostic };

interface Wish {
  readonly vm: ResolvedVm;
  readonly slot: string;
  /** As the file gives it. */
  readonly device: string;
}

/** Address as the file gives it → the mapping that stands for it on the VM's node, now or after this plan. */
export function pciMappingsFor(vm: ResolvedVm, observed: PciSight): Map<string, string> {
  return new Map(
    wishesOf(vm).flatMap((wish): [string, string][] => {
      const answer = answerTo(wish, observed);
      return answer.kind === 'found' || answer.kind === 'make' ? [[wish.device, answer.mapping]] : [];
    }),
  );
}

/** Devices that have no mapping and get none, with the ways out. */
export function unmappedDevices(vm: ResolvedVm, observed: Observed): Diagnostic[] {
  return wishesOf(vm).flatMap((wish) => {
    const answer = answerTo(wish, observed);
    return answer.kind === 'refused' ? [answer.problem] : [];
  });
}

/** What those who use a mapping find it by. */
export function mappingToken(mapping: string): string {
  return `pci-mapping:${mapping}`;
}

/** Mappings that this VM waits for. */
export function mappingsUsed(vm: ResolvedVm, observed: PciSight): string[] {
  return [...pciMappingsFor(vm, observed).values()].map(mappingToken);
}

/** One step for each mapping that is to be made. */
export function pciMapSteps(vms: readonly ResolvedVm[], observed: Observed): PciMapStep[] {
  const groups = new Map<string, { entries: Set<string>; mdev: boolean }>();
  for (const wish of vms.flatMap(wishesOf)) {
    const answer = answerTo(wish, observed);
    if (answer.kind !== 'make') continue;
    const group = groups.get(answer.mapping) ?? { entries: new Set(), mdev: answer.mdev };
    group.entries.add(answer.entry);
    groups.set(answer.mapping, group);
  }
  return [...groups].map(([mapping, { entries, mdev }]) => pciMapStep({ mapping, map: [...entries], mdev }));
}

function wishesOf(vm: ResolvedVm): Wish[] {
  return Object.entries(vm.fields.pci ?? {}).flatMap(([slot, { device }]) =>
    device === undefined ? [] : [{ vm, slot, device }],
  );
}

function answerTo(wish: Wish, observed: PciSight): Answer {
  if (partOfOwn(wish, observed, 'host') === wish.device) return { kind: 'kept' };
  const mapping = findMapping(wish, observed);
  return mapping === undefined ? makeMapping(wish, observed) : { kind: 'found', mapping };
}

/** Where several stand for it the VM keeps the one it has. */
function findMapping(wish: Wish, observed: PciSight): string | undefined {
  const { pciMappings } = observed;
  if (!pciMappings.ok) return undefined;
  const { node } = wish.vm.fields;
  const path = pciPath(wish.device);
  const names = [...pciMappings.value].flatMap(([id, map]) => (standsFor(map, node, path) ? [id] : []));
  const own = partOfOwn(wish, observed, 'mapping');
  return own !== undefined && names.includes(own) ? own : names.sort()[0];
}

/** What the VM has in this slot now. */
function partOfOwn({ vm, slot }: Wish, { vms }: PciSight, part: 'host' | 'mapping'): string | undefined {
  const found = vms.get(vm.address);
  const now = found?.kind === 'present' ? (found.vm.pending.get(slot) ?? found.vm.current.get(slot)) : undefined;
  return splitProperty(now ?? '').find(({ key }) => key === part)?.value;
}

function makeMapping(wish: Wish, observed: PciSight): Answer {
  const { vm, device } = wish;
  const { node } = vm.fields;
  const path = pciPath(device);
  const { pciMappings, pciMaking } = observed;
  const missing = ['Mapping.Modify', 'Mapping.Use'].filter((name) => !pciMaking?.privileges.has(name));
  const devices = pciMaking?.devices.get(node);
  if (missing.length > 0) return refused(mayNotMake(wish, pciMappings.ok, `${missing.join(' and ')} on /mapping/pci`));
  if (!devices) return refused(mayNotMake(wish, true, `node ${node} to be online`));
  if (!devices.ok) return refused(mayNotMake(wish, true, devices.needs));
  // Of a whole device the first function must be there, and stands for it.
  const first = /\.[0-7]$/.test(path) ? path : `${path}.0`;
  const hardware = devices.value.find((each) => each.path === first);
  if (!hardware) return refused(noSuchDevice(wish, devices.value));
  if (hardware.iommuGroup === undefined) return refused(noIommu(wish));
  const mapping = pciMappingName(path, hardware);
  const map = pciMappings.ok ? pciMappings.value.get(mapping) : undefined;
  if (map && mappedPaths(map, node).length > 0) return refused(nameTaken(wish, mapping));
  return { kind: 'make', mapping, entry: pciMappingEntry(node, path, hardware), mdev: hardware.mdev };
}

const refused = (problem: Diagnostic): Answer => ({ kind: 'refused', problem });
const lineOf = ({ vm, slot }: Wish) => whereOf(vm, `pci.${slot}.device`);

/** Two ways out: the token gets the right to make one, or somebody else makes it. */
function mayNotMake(wish: Wish, seesMappings: boolean, needs: string): Diagnostic {
  const { vm, device } = wish;
  const { node } = vm.fields;
  const init = {
    where: lineOf(wish),
    hint:
      'Either let Proxwright make one: grant the token PVEMappingAdmin on /mapping/pci and Sys.Audit on /. ' +
      `Or have it made: pvesh create /cluster/mapping/pci --id NAME --map node=${node},path=${pciPath(device)},id=VENDOR:DEVICE (ids: pvesh get /nodes/${node}/hardware/pci), and grant the token Mapping.Use on it. Then it is found by itself.`,
  };
  const why = 'Proxmox lets only root@pam with a password name a device by its address';
  if (!seesMappings) {
    const detail = `PCI device ${device} can be used only through a mapping, and the token sees none: it needs ${needs}. ${why}.`;
    return new ProxwrightError({ ...init, code: 'PRIVILEGE_MISSING', detail }).diagnostic;
  }
  const detail = `No PCI mapping stands for ${device} on ${node}, and none can be made: that needs ${needs}. ${why}.`;
  return new ProxwrightError({ ...init, code: 'MISSING_REFERENCE', detail }).diagnostic;
}

function noSuchDevice(wish: Wish, devices: readonly PciHardware[]): Diagnostic {
  const { node } = wish.vm.fields;
  const there = devices.map(({ path, name }) => `${path}${name === '' ? '' : ` (${name})`}`);
  return new ProxwrightError({
    code: 'MISSING_REFERENCE',
    where: lineOf(wish),
    detail: `Node ${node} has no PCI device ${pciPath(wish.device)}; it has ${there.length > 0 ? there.join(', ') : 'none that can be passed on'}.`,
    hint: 'Correct the address, or place the VM on the node that has the device.',
  }).diagnostic;
}

function noIommu(wish: Wish): Diagnostic {
  const { node } = wish.vm.fields;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: lineOf(wish),
    detail: `PCI device ${pciPath(wish.device)} of ${node} is in no IOMMU group, so Proxmox cannot pass it to a VM.`,
    hint: `Switch the IOMMU on in the firmware of ${node} (VT-d, AMD-Vi) and on its kernel command line, then start it anew.`,
  }).diagnostic;
}

function nameTaken(wish: Wish, mapping: string): Diagnostic {
  const { node } = wish.vm.fields;
  return new ProxwrightError({
    code: 'CONFIG_CHANGED',
    where: lineOf(wish),
    detail: `The PCI mapping ${mapping} is there, but on ${node} it does not stand for ${pciPath(wish.device)} alone; somebody changed it.`,
    hint: `Correct it under Datacenter, Resource Mappings, or name a mapping in the file: pci.${wish.slot}.mapping`,
  }).diagnostic;
}
