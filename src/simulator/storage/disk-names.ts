/** The name a new disk gets: the lowest number that is free for the guest on that storage. */
import { dieFault } from '../http/response.ts';
import type { Storage } from '../world/world.ts';
import { volumesOfGuest } from './catalogue.ts';
import { isFileBased } from './names.ts';

/** Rule [source ST Storage/Plugin.pm $MAX_VOLUMES_PER_GUEST]. */
const MAX_VOLUMES_PER_GUEST = 1024;

/**
 * Rule [source ST Storage/Plugin.pm get_next_vm_diskname]: numbers are shared by all formats where the storage knows
 * subvolumes (dir, zfspool); elsewhere only volumes with the same extension count.
 */
export function nextDiskName(storage: Storage, node: string, vmid: number, format: string): string {
  const suffix = isFileBased(storage) || (storage.type === 'lvm' && format === 'qcow2') ? `.${format}` : '';
  const knowsSubvolumes = storage.type === 'dir' || storage.type === 'zfspool';
  const pattern = knowsSubvolumes
    ? new RegExp(`(?:vm|base|subvol|basevol)-${vmid}-disk-(\\d+)`)
    : new RegExp(`(?:vm|base)-${vmid}-disk-(\\d+)${suffix.replace('.', '\\.')}`);
  const taken = new Set<number>();
  for (const volume of volumesOfGuest(storage, node, vmid)) {
    const match = pattern.exec(volume.name);
    if (match) taken.add(Number(match[1]));
  }
  for (let number = 0; number < MAX_VOLUMES_PER_GUEST; number++) {
    if (!taken.has(number)) return `${format === 'subvol' ? 'subvol' : 'vm'}-${vmid}-disk-${number}${suffix}`;
  }
  throw dieFault(`unable to allocate an image name for VM ${vmid} in storage '${storage.id}'`);
}
