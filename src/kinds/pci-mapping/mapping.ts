/**
 * PCI mappings as data: their entries, the device of each node that they offer, the names that Proxwright gives them,
 * and the step that creates one.
 */
import type { Address } from '../../base/address.ts';
import { splitProperty } from '../../pve/wire/index.ts';
import type { Step } from '../step.ts';

export const PCI_MAP = 'pci.map';

export interface PciMapInput {
  /** Name of the mapping. */
  readonly mapping: string;
  /** One entry for each node, in Proxmox's format. */
  readonly map: readonly string[];
  /** Proxmox compares it with the hardware at every start. */
  readonly mdev: boolean;
}

export type PciMapStep = Step<typeof PCI_MAP, PciMapInput>;

/** A device of a node, as the node reports it. */
export interface PciHardware {
  /** `0000:01:00.0`. */
  readonly path: string;
  /** `10de:2204`, vendor and device. */
  readonly id: string;
  readonly subsystemId: string | undefined;
  /** None without an IOMMU. */
  readonly iommuGroup: number | undefined;
  readonly mdev: boolean;
  /** For messages; empty if the node knows none. */
  readonly name: string;
}

/** A mapping belongs to no VM: several may share it, and it outlives them. */
export function pciMapStep(input: PciMapInput): PciMapStep {
  const address = `pci.${input.mapping}` as Address; // no address of a VM starts with `pci.`
  return { id: `${address}/map`, stage: 'prepare', address, action: PCI_MAP, input, needs: [] };
}

export function isPciMapStep(step: Step): step is PciMapStep {
  return step.action === PCI_MAP;
}

/** `01:00` and `0000:01:00` are the same device; with a function (`.0`) it is a part of it. */
export function pciPath(written: string): string {
  const lower = written.toLowerCase();
  return /^[0-9a-f]{4,}:[0-9a-f]{2}:/.test(lower) ? lower : `0000:${lower}`;
}

/** Whether one is the other, or a function of it. */
export function pciPathsOverlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}

/** The devices that a mapping offers on a node; of several, Proxmox takes one that is free. */
export function mappedPaths(map: readonly string[], node: string): string[] {
  return map.filter((entry) => nodeOfEntry(entry) === node).flatMap(pathsOf);
}

export function nodeOfEntry(entry: string): string | undefined {
  return partOf(entry, 'node');
}

function pathsOf(entry: string): string[] {
  return (partOf(entry, 'path') ?? '').split(';').map(pciPath);
}

function partOf(entry: string, name: string): string | undefined {
  return splitProperty(entry).find(({ key }) => key === name)?.value;
}

/** Whether it offers this device on this node, and no other. */
export function mapsExactly(map: readonly string[], node: string, path: string): boolean {
  const paths = mappedPaths(map, node);
  return paths.length === 1 && paths[0] === path;
}

/** From the device's address and ids: the same card in the same slot of two nodes shares a mapping, another card does not. */
export function pciMappingName(path: string, { id }: PciHardware): string {
  return `proxwright-${path}-${id}`.replaceAll(/[:.]/g, '-');
}

/** For a whole device, the ids of its first function count. */
export function pciMappingEntry(node: string, path: string, device: PciHardware): string {
  const { id, iommuGroup, subsystemId } = device;
  return [
    `id=${id}`,
    ...(iommuGroup === undefined ? [] : [`iommugroup=${iommuGroup}`]),
    `node=${node}`,
    `path=${path}`,
    ...(subsystemId === undefined ? [] : [`subsystem-id=${subsystemId}`]),
  ].join(',');
}
