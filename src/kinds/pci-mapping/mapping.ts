/**
 * PCI mappings as data: what stands in one, which device on which node it stands for, what one of ours is called, and the
 * step that makes it.
 */
import type { Address } from '../../base/address.ts';
import { splitProperty } from '../../pve/wire/index.ts';
import type { Step } from '../step.ts';

export const PCI_MAP = 'pci.map';

export interface PciMapInput {
  /** Name of the mapping. */
  readonly mapping: string;
  /** One entry for each node, as the server wants them. */
  readonly map: readonly string[];
  /** The server compares it with the hardware at every start. */
  readonly mdev: boolean;
}

export type PciMapStep = Step<typeof PCI_MAP, PciMapInput>;

/** A device of a node, as the node itself describes it. */
export interface PciHardware {
  /** `0000:01:00.0`. */
  readonly path: string;
  /** `10de:2204`, vendor and device. */
  readonly id: string;
  readonly subsystemId: string | undefined;
  /** None without an IOMMU. */
  readonly iommuGroup: number | undefined;
  readonly mdev: boolean;
  /** For people; empty where the node knows none. */
  readonly name: string;
}

/** A mapping belongs to no VM: several may share it, and it stays when they go. */
export function pciMapStep(input: PciMapInput): PciMapStep {
  const address = `pci.${input.mapping}` as Address; // beside the VMs of the stack, and never taken for one of them
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

/** One of them is the other, or a function of it. */
export function pciPathsOverlap(a: string, b: string): boolean {
  return a === b || a.startsWith(`${b}.`) || b.startsWith(`${a}.`);
}

/** The devices a mapping may hand out on a node; of several Proxmox takes whichever is free. */
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

/** Whether it hands out this device on this node, and never another one. */
export function standsFor(map: readonly string[], node: string, path: string): boolean {
  const paths = mappedPaths(map, node);
  return paths.length === 1 && paths[0] === path;
}

/** Address and kind of the device: the same card in the same place of two nodes is one mapping, another card is not. */
export function pciMappingName(path: string, { id }: PciHardware): string {
  return `proxwright-${path}-${id}`.replaceAll(/[:.]/g, '-');
}

/** Of a whole device the first function speaks for all. */
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
