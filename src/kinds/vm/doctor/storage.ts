/** State of the storages that the stack uses, and space for everything the plan creates. */

import { nodeCommand } from '../../../base/text/node-command.ts';
import { storageOfVolume } from '../../../pve/wire/index.ts';
import type { StorageRow } from '../../cluster.ts';
import type { Examined } from '../../doctor/examined.ts';
import { type Finding, findingsOf, roughSize } from '../../doctor/finding.ts';
import type { Findings } from '../../kind.ts';
import { machinesOf } from '../../stack.ts';
import { drivesOf } from '../config/disks.ts';
import { countNeeds, isThin, roomKey } from '../plan/checks/room.ts';
import { baseOf, isThere, storagesOf } from './examine.ts';

type CheckInput = Pick<Examined, 'stack' | 'foreseen'>;

export function checkStorages(examination: CheckInput): Finding[] {
  const { stack, foreseen: observed } = examination;
  const say = findingsOf('storage');
  const needed = neededBytes(examination);
  const shared = new Set<string>();
  const used = new Map<string, Set<string>>();
  for (const vm of machinesOf(stack)) {
    const { node } = vm.fields;
    used.set(node, new Set([...(used.get(node) ?? []), ...storagesOf(vm, observed)]));
  }
  return [...used].flatMap(([node, names]) => {
    const rows = observed.storages.get(node);
    if (!rows) return [];
    if (!rows.ok) return [say.unread(`Storages of ${node}`, rows.needs)];
    return [...names].flatMap((name): Finding[] => {
      const row = rows.value.find(({ storage }) => storage === name);
      if (!row) return [say.unread(`Storage ${name} of ${node}`, `Datastore.AllocateSpace on /storage/${name}`)];
      const key = roomKey(`${node}/${name}`, observed);
      const isWorking = row.enabled && row.active;
      // One line for a storage that nodes share, where it works.
      if (row.shared && isWorking && shared.has(key)) return [];
      if (row.shared && isWorking) shared.add(key);
      return [judge(row, node, needed.get(key) ?? 0, used.size > 1)];
    });
  });
}

function judge(row: StorageRow, node: string, bytes: number, isOneOfSeveral: boolean): Finding {
  const say = findingsOf('storage');
  const { storage, availableBytes, active, enabled } = row;
  if (!enabled || !active) {
    return say.bad(`${storage} is ${enabled ? 'not active' : 'disabled'} on ${node}.`, {
      remedy: enabled
        ? `On ${node}: ${nodeCommand('pvesm status', [], { storage })}`
        : nodeCommand('pvesm set', [storage], { disable: 0 }),
    });
  }
  if (availableBytes === undefined) {
    return say.warning(`${storage} of ${node} does not report its free space.`, {
      remedy: `On ${node}: ${nodeCommand('pvesm status', [])}`,
    });
  }
  const place = isOneOfSeveral && !row.shared ? `${storage} of ${node}` : storage;
  const space = `${place} has ${roughSize(availableBytes)} free`;
  if (bytes === 0) return say.good(`${space}; the plan creates no disks there.`);
  const words = `${space}; the plan needs ${roughSize(bytes)}`;
  if (bytes <= availableBytes) return say.good(`${words}.`);
  const remedy =
    'Free some space, use fewer or smaller disks, or put them on other storages: clone.storage, disks.….storage';
  // A thin pool can be overcommitted; it fills only as guests write.
  if (isThin(row))
    return say.warning(`${words} if all disks fill up; ${row.type} is thin-provisioned, so less may be enough.`, {
      remedy,
    });
  return say.bad(`${words}.`, { remedy });
}

/** By place: new disks, copies of template disks, and growth of existing disks. */
function neededBytes({ stack, foreseen: observed }: CheckInput): ReadonlyMap<string, number> {
  const counted: Pick<Findings, 'neededBytes'> = { neededBytes: new Map() };
  const sums = new Map<string, number>();
  const add = (key: string, bytes: number) => {
    const place = roomKey(key, observed);
    sums.set(place, (sums.get(place) ?? 0) + bytes);
  };
  for (const vm of machinesOf(stack)) {
    const base = baseOf(vm, observed);
    if (!isThere(vm, observed)) {
      countNeeds({ vm, creating: true }, base, counted);
      continue;
    }
    for (const { key, volume, sizeBytes = 0 } of drivesOf(base)) {
      const storage = volume && storageOfVolume(volume);
      const growth = (vm.fields.disks?.[key]?.size ?? 0) - sizeBytes;
      if (storage !== undefined && growth > 0) add(`${vm.fields.node}/${storage}`, growth);
    }
  }
  for (const [key, { bytes }] of counted.neededBytes) add(key, bytes);
  return sums;
}
