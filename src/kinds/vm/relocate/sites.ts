/**
 * The nodes that a VM could move to: what it needs there, or why it cannot go there; and the room that is left. Pure.
 */

import type { GuestRow } from '../../cluster.ts';
import type { RelocateContext } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import { mappedPaths } from '../../pci-mapping/mapping.ts';
import { propertyOf } from '../config/parts.ts';
import type { Estate, PlacementNode, Site } from '../placement/ledger.ts';
import { zonesByNode } from '../placement/room.ts';
import { isThin } from '../plan/checks/room.ts';
import { bridgesOf, copiedVolumes, type Mover, mappingOf, storageRefusal, storedDrives } from './obstacles.ts';

interface SiteOptions {
  /** Takes all local disks, whichever storage they are on now. */
  readonly targetStorage?: string | undefined;
}

/** The VM as a mover to this node. What the token may not read is not compared. */
export function siteOf(mover: Mover, node: string, observed: Observed, { targetStorage }: SiteOptions): Site {
  const host = observed.nodes.get(node);
  if (!host?.online) return { ok: false, why: ['It is offline.'] };
  const rows = observed.storages.get(node);
  const copied = copiedVolumes(mover, observed, targetStorage);
  const shared = storedDrives(mover, observed).filter(({ isShared }) => isShared);
  const needed = new Set([...copied.keys(), ...shared.map(({ storage }) => storage)]);
  const storages = rows?.ok ? rows.value : undefined;
  const why = [
    ...(storages
      ? [...needed].flatMap((storage) => {
          const isImages =
            copied.has(storage) ||
            shared.some(({ drive, ...each }) => each.storage === storage && drive.kind !== 'cdrom');
          return storageRefusal(storage, storages, isImages ? 'images' : 'iso') ?? [];
        })
      : []),
    ...bridgeRefusals(mover, node, observed),
    ...mappingRefusals(mover, node, observed),
    ...directoryRefusals(mover, node, observed),
  ];
  if (why.length > 0) return { ok: false, why };
  const room = [...copied].map(([storage, bytes]) => {
    const row = storages?.find((each) => each.storage === storage);
    return [row?.shared ? `*/${storage}` : `${node}/${storage}`, bytes] as const;
  });
  return { ok: true, storage: new Map(room) };
}

function bridgeRefusals({ vm }: Mover, node: string, { bridges }: Observed): string[] {
  const there = bridges.get(node);
  if (!there?.ok) return [];
  const missing = [...bridgesOf(vm)].filter((bridge) => !there.value.has(bridge));
  return missing.map((bridge) => `It has no bridge "${bridge}" that the token may use.`);
}

function mappingRefusals({ vm }: Mover, node: string, { pciMappings }: Observed): string[] {
  return [...vm.current].flatMap(([key, text]) => {
    const name = mappingOf(key, text);
    const map = name !== undefined && pciMappings.ok ? pciMappings.value.get(name) : undefined;
    return map && mappedPaths(map, node).length === 0 ? [`The mapping "${name}" (${key}) has no device of it.`] : [];
  });
}

function directoryRefusals({ vm }: Mover, node: string, { directories }: Observed): string[] {
  return [...vm.current].flatMap(([key, text]) => {
    const name = /^virtiofs\d+$/.test(key) ? propertyOf(key, text).get('dirid') : undefined;
    const found = name === undefined ? undefined : directories?.used.get(name);
    return found?.ok && !found.value?.has(node)
      ? [`The directory mapping "${name}" (${key}) has no directory of it.`]
      : [];
  });
}

/** Nodes and storages with the room they have without these VMs, running or not. */
export function estateWithout(
  movers: readonly Mover[],
  { stack, observed }: Pick<RelocateContext, 'stack' | 'observed'>,
): Estate {
  const zones = zonesByNode(stack);
  const moving = new Set(movers.map(({ vm }) => vm.vmid));
  const others = [...observed.guests.values()].filter(({ vmid }) => !moving.has(vmid));
  const nodes = [...observed.nodes].map(([name, { memory }]): PlacementNode => {
    const used = others.filter(({ node }) => node === name).reduce((sum, guest) => sum + memoryOf(guest), 0);
    return {
      name,
      zone: zones.get(name),
      memory: memory && { totalBytes: memory.totalBytes, freeBytes: memory.totalBytes - used },
    };
  });
  return { nodes, residents: [], rooms: roomsOf(observed) };
}

/** The most that a running guest may use: its present use says little about tomorrow. */
const memoryOf = ({ running, memoryBytes = 0 }: GuestRow) => (running ? memoryBytes : 0);

/** Thin storage may be overcommitted; only what certainly does not fit is refused. */
function roomsOf({ storages }: Observed): Map<string, number> {
  return new Map(
    [...storages].flatMap(([node, rows]) =>
      (rows.ok ? rows.value : []).flatMap((row) =>
        row.availableBytes === undefined || isThin(row)
          ? []
          : [[row.shared ? `*/${row.storage}` : `${node}/${row.storage}`, row.availableBytes] as const],
      ),
    ),
  );
}
