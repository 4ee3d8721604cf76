/**
 * Refuses what cannot work before anything is created: nodes, ids, storages, formats, free space, bridges, mappings, pools,
 * sizes and boot devices, each with its line in the file and a hint. What the token may not read is not checked here;
 * `planVms` warns about it.
 */

import { kindOf } from '../../../../base/address.ts';
import type { Diagnostic, Where } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, setting } from '../../../../base/hint.ts';
import { closest } from '../../../../base/text/closest.ts';
import { nodeCommand } from '../../../../base/text/node-command.ts';
import { printByteSize } from '../../../../base/values/units.ts';
import { hasEndpoint } from '../../../../pve/compatibility.ts';
import type { StorageRow } from '../../../cluster.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { Findings } from '../../../kind.ts';
import type { Observed } from '../../../observed.ts';
import { nodeOfEntry } from '../../../pci-mapping/mapping.ts';
import { unmappedDevices } from '../../../pci-mapping/plan.ts';
import { drivesOf } from '../../config/disks.ts';
import { halfMadeText, unlockHint } from '../../lock.ts';
import { missingDirectories } from '../../observe/shared-directories.ts';
import { isHalfMade } from '../../observed.ts';
import { ownerOf } from '../../ownership.ts';
import { ownDocuments } from '../../seed/fields.ts';
import type { ResolvedVm } from '../../stack.ts';
import { nothingToBootFrom } from './boot-source.ts';
import { processorProblems } from './processors.ts';
import { countNeeds } from './room.ts';
import { refusedValues } from './value-checks.ts';

/** A VM that the plan creates or changes, and what it starts from. */
export interface CheckSubject {
  readonly vm: ResolvedVm;
  /** Values of the template or of the VM itself; undefined when the template is unknown. */
  readonly base: ReadonlyMap<string, string> | undefined;
  readonly creating: boolean;
  /** An id that is taken now and free when the VM is created. */
  readonly freedId?: number;
  /** Drives of `base` that exist already and take no space. */
  readonly carried?: ReadonlyMap<string, string> | undefined;
}

export function checkVm(subject: CheckSubject, observed: Observed, findings: Findings): void {
  const { vm } = subject;
  if (!checkNode(vm, observed, findings)) return;
  if (subject.creating && vm.fields.vmid !== subject.freedId) checkId(vm, observed, findings);
  const bootless = subject.creating ? nothingToBootFrom(vm) : undefined;
  if (bootless) findings.problems.push(bootless);
  checkPlace(subject, observed, findings);
  findings.problems.push(...refusedValues(vm, subject.base, observed));
  if (subject.base) checkBootOrder(vm, subject.base, findings);
  checkHaGroup(vm, observed, findings);
  if (subject.creating) checkPool(vm, observed, findings);
}

/** What the node itself must have: storages, bridges, devices and processors. */
export function checkPlace(subject: CheckSubject, observed: Observed, findings: Findings): void {
  const { vm } = subject;
  checkStorages(subject, observed, findings);
  checkBridges(vm, observed, findings);
  checkMappings(vm, observed, findings);
  findings.problems.push(...unmappedDevices(vm, observed), ...processorProblems(subject, observed));
  findings.problems.push(...missingDirectories(vm, observed));
}

/** Proxmox reports a missing pool as a missing privilege. */
function checkPool(vm: ResolvedVm, { pools }: Observed, { problems }: Findings): void {
  const { pool } = vm.fields;
  const found = pool === undefined ? undefined : pools?.get(pool);
  if (!found?.ok || found.value) return;
  problems.push(
    new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where: whereOf(vm, 'pool'),
      detail: `There is no pool "${pool}".`,
      hint: `Correct the name, or create the pool: ${nodeCommand('pveum pool add', [pool ?? ''])}`,
    }).diagnostic,
  );
}

/** Proxmox VE 9 replaced HA groups by rules. */
function checkHaGroup(vm: ResolvedVm, observed: Observed, { problems }: Findings): void {
  const { ha } = vm.fields;
  if (!ha || ha.group === undefined || hasEndpoint(observed.version, '/cluster/ha/groups')) return;
  problems.push(
    new ProxwrightError({
      code: 'BAD_VALUE',
      where: whereOf(vm, 'ha.group'),
      detail: `Proxmox VE ${observed.version.version} has no HA groups: rules replaced them.`,
      hint: advice`Remove "group", and name its nodes: ${setting('nodes', ['…'])} instead of "node". Proxwright then keeps a node affinity rule for the VM.`,
    }).diagnostic,
  );
}

export function hasNode({ fields }: ResolvedVm, { nodes }: Observed): boolean {
  return nodes.get(fields.node)?.online === true;
}

function checkNode(vm: ResolvedVm, observed: Observed, { problems }: Findings): boolean {
  if (hasNode(vm, observed)) return true;
  const { node } = vm.fields;
  const where = whereOf(vm, 'node');
  const offline = {
    code: 'MISSING_REFERENCE',
    where,
    detail: `Node "${node}" is offline.`,
    hint: 'Start the node, or place the VM on another one.',
  } as const;
  problems.push(
    observed.nodes.has(node) ? new ProxwrightError(offline).diagnostic : noSuchNode(node, observed.nodes, where),
  );
  return false;
}

/** The file names a node that the server does not list. */
export function noSuchNode(node: string, nodes: Observed['nodes'], where: Where): Diagnostic {
  const names = [...nodes.keys()].sort();
  const guess = closest(node, names);
  return new ProxwrightError({
    code: 'MISSING_REFERENCE',
    where,
    detail: `There is no node "${node}"; ${names.length === 0 ? 'the server lists none' : `the cluster has ${names.join(', ')}`}.`,
    hint: guess === undefined ? 'Correct the name.' : `Did you mean "${guess}"?`,
  }).diagnostic;
}

function checkId(vm: ResolvedVm, observed: Observed, { problems }: Findings): void {
  const { vmid } = vm.fields;
  if (vmid === undefined || !observed.takenIds.has(vmid)) return;
  const row = observed.guests.get(vmid);
  const occupant = observed.claimants.get(vmid);
  // The list of the cluster names a new guest some seconds late.
  const name = row?.name ?? occupant?.current.get('name') ?? '(no name)';
  const who = row ? `"${name}" on ${row.node}` : 'a guest the token may not see';
  const held = observed.locks.get(vmid);
  const halfMade = held && isHalfMade(held) ? held : undefined;
  const owner = occupant && ownerOf(occupant);
  const details = [
    `Id ${vmid} belongs to ${who}.`,
    ...(owner ? [`Its notes say that it is ${owner.address} of the stack "${owner.stack}".`] : []),
    ...(halfMade ? [halfMadeText(halfMade)] : []),
  ];
  problems.push(
    new ProxwrightError({
      code: 'VMID_TAKEN',
      where: whereOf(vm, 'vmid'),
      detail: details.join(' '),
      // Only a VM can be imported, only as a VM, and not one that a stack owns.
      hint: halfMade
        ? `Choose another id. ${unlockHint(halfMade)}`.trimEnd()
        : kindOf(vm.address) === 'vm' && row?.type === 'qemu' && !row.template && !owner
          ? advice`Choose another id, or import the VM: ${command('import', vm.address, vmid)}.`
          : 'Choose another id.',
    }).diagnostic,
  );
}

interface StorageUse {
  readonly path: string;
  readonly storage: string;
  readonly format?: string | undefined;
  readonly content: 'images' | 'iso' | 'snippets';
}

const CONTENT_NAMES = { images: 'disk images', iso: 'ISO images', snippets: 'snippets' } as const;

function storageUses({ vm, creating }: CheckSubject): StorageUse[] {
  const { clone, disks = {}, efi, tpm, cloud_init: cloudInit } = vm.fields;
  const uses: StorageUse[] = [];
  const add = (path: string, storage: string | undefined, format?: string) => {
    if (storage !== undefined) uses.push({ path, storage, format, content: 'images' });
  };
  if (creating) add('clone.storage', clone?.storage, clone?.format);
  for (const [slot, disk] of Object.entries(disks)) {
    add(`disks.${slot}.storage`, disk.storage, disk.format);
    if (typeof disk.iso === 'string') {
      uses.push({ path: `disks.${slot}.iso`, storage: disk.iso.split(':')[0] ?? '', content: 'iso' });
    }
  }
  if (cloudInit?.storage !== undefined) {
    const content = ownDocuments(cloudInit).length > 0 ? 'iso' : 'images';
    uses.push({ path: 'cloud_init.storage', storage: cloudInit.storage, content });
  }
  for (const [kind, volume] of Object.entries(cloudInit?.snippets ?? {})) {
    const [storage] = volume?.split(':') ?? [];
    if (storage !== undefined) uses.push({ path: `cloud_init.snippets.${kind}`, storage, content: 'snippets' });
  }
  add('efi.storage', efi?.storage);
  add('tpm.storage', tpm?.storage);
  return uses;
}

function checkStorages(subject: CheckSubject, observed: Observed, findings: Findings): void {
  const { vm } = subject;
  const storages = observed.storages.get(vm.fields.node);
  if (!storages?.ok) return;
  const rows = new Map(storages.value.map((row) => [row.storage, row]));
  for (const use of storageUses(subject)) {
    const problem = storageProblem(use, rows, vm);
    if (problem) findings.problems.push(problem);
  }
  if (!subject.base) return;
  countNeeds(subject, subject.base, findings);
  checkSizes(vm, subject.base, findings);
}

function storageProblem(
  use: StorageUse,
  rows: ReadonlyMap<string, StorageRow>,
  vm: ResolvedVm,
): Diagnostic | undefined {
  const row = rows.get(use.storage);
  const where = whereOf(vm, use.path);
  const { node } = vm.fields;
  if (!row) {
    const guess = closest(use.storage, [...rows.keys()]);
    return new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where,
      detail: `Node ${node} has no storage "${use.storage}" that the token may see; it sees ${[...rows.keys()].join(', ')}.`,
      hint: guess ? `Did you mean "${guess}"?` : 'Correct the name, or grant Datastore.AllocateSpace on it.',
    }).diagnostic;
  }
  if (!row.enabled || !row.active) {
    return new ProxwrightError({
      code: 'BAD_VALUE',
      where,
      detail: `Storage "${use.storage}" is ${row.enabled ? 'not active' : 'disabled'} on ${node}.`,
      hint: 'Enable it, or choose another storage.',
    }).diagnostic;
  }
  if (!row.content.has(use.content)) {
    return new ProxwrightError({
      code: 'BAD_VALUE',
      where,
      detail: `Storage "${use.storage}" does not hold ${CONTENT_NAMES[use.content]}; its content types are ${[...row.content].join(', ')}.`,
      hint: 'Choose another storage, or add the content type to it.',
    }).diagnostic;
  }
  if (use.format !== undefined && row.formats && !row.formats.includes(use.format)) {
    return new ProxwrightError({
      code: 'BAD_VALUE',
      where,
      detail: `Storage "${use.storage}" (${row.type}) cannot hold ${use.format}; Proxmox would silently use another format.`,
      hint: `Omit the format, or set one of ${row.formats.join(', ')}.`,
    }).diagnostic;
  }
  return undefined;
}

function checkSizes(vm: ResolvedVm, base: ReadonlyMap<string, string>, { problems }: Findings): void {
  const inherited = new Map(drivesOf(base).map((drive) => [drive.key, drive]));
  for (const [slot, disk] of Object.entries(vm.fields.disks ?? {})) {
    const actual = inherited.get(slot)?.sizeBytes;
    if (disk.size === undefined || actual === undefined || disk.size >= actual) continue;
    problems.push(
      new ProxwrightError({
        code: 'BAD_VALUE',
        where: whereOf(vm, `disks.${slot}.size`),
        detail: `The disk in ${slot} has ${printByteSize(actual)} already; Proxmox cannot shrink it to ${printByteSize(disk.size)}.`,
        hint: `Set ${printByteSize(actual)} or more, or omit the size.`,
      }).diagnostic,
    );
  }
}

function checkBridges(vm: ResolvedVm, observed: Observed, { problems }: Findings): void {
  const bridges = observed.bridges.get(vm.fields.node);
  if (!bridges?.ok) return;
  for (const [slot, nic] of Object.entries(vm.fields.nics ?? {})) {
    if (nic.bridge === undefined || bridges.value.has(nic.bridge)) continue;
    const names = [...bridges.value];
    const guess = closest(nic.bridge, names);
    problems.push(
      new ProxwrightError({
        code: 'MISSING_REFERENCE',
        where: whereOf(vm, `nics.${slot}.bridge`),
        detail: `Node ${vm.fields.node} has no bridge "${nic.bridge}" that the token may use; it may use ${names.join(', ')}.`,
        hint: guess ? `Did you mean "${guess}"?` : 'Create the bridge on the node, or grant SDN.Use on it.',
      }).diagnostic,
    );
  }
}

function checkMappings(vm: ResolvedVm, observed: Observed, { problems }: Findings): void {
  const mappings = observed.pciMappings;
  if (!mappings.ok) return;
  for (const [slot, device] of Object.entries(vm.fields.pci ?? {})) {
    const map = device.mapping === undefined ? undefined : mappings.value.get(device.mapping);
    if (map && !map.some((entry) => nodeOfEntry(entry) === vm.fields.node)) {
      problems.push(mappedElsewhere(vm, slot, device.mapping ?? '', map));
    }
    if (device.mapping === undefined || map) continue;
    const guess = closest(device.mapping, [...mappings.value.keys()]);
    problems.push(
      new ProxwrightError({
        code: 'MISSING_REFERENCE',
        where: whereOf(vm, `pci.${slot}.mapping`),
        detail: `There is no PCI mapping "${device.mapping}"; Proxmox would accept the name and fail when the VM starts.`,
        hint: guess ? `Did you mean "${guess}"?` : 'Create the mapping under Datacenter, Resource Mappings.',
      }).diagnostic,
    );
  }
}

/** Proxmox accepts the mapping and fails when the VM starts. */
function mappedElsewhere(vm: ResolvedVm, slot: string, mapping: string, map: readonly string[]): Diagnostic {
  const nodes = [...new Set(map.flatMap((entry) => nodeOfEntry(entry) ?? []))];
  return new ProxwrightError({
    code: 'MISSING_REFERENCE',
    where: whereOf(vm, `pci.${slot}.mapping`),
    detail: `The PCI mapping "${mapping}" has no device on ${vm.fields.node}, only on ${nodes.join(', ') || 'no node'}: Proxmox will not start the VM.`,
    hint: `Add the device of ${vm.fields.node} to the mapping, or place the VM on another node.`,
  }).diagnostic;
}

/** A boot device must exist once the plan is applied. */
function checkBootOrder(vm: ResolvedVm, base: ReadonlyMap<string, string>, { problems }: Findings): void {
  const { boot, disks = {}, nics = {}, usb = {}, pci = {} } = vm.fields;
  if (!boot) return;
  const stated = new Set([disks, nics, usb, pci].flatMap((devices) => Object.keys(devices)));
  for (const [index, device] of boot.entries()) {
    const removed = disks[device]?.remove === true || nics[device]?.remove === true;
    if (!removed && (stated.has(device) || base.has(device))) continue;
    problems.push(
      new ProxwrightError({
        code: 'BAD_VALUE',
        where: whereOf(vm, `boot.${index}`),
        detail: removed
          ? `The boot order names ${device}, which this file removes.`
          : `The boot order names ${device}, which neither the template nor this file has.`,
        hint: `Remove ${device} from boot, or declare it.`,
      }).diagnostic,
    );
  }
}
