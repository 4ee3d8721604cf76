/**
 * The holder: an otherwise empty VM that has the kept disks of another VM between the destruction of the old one and
 * the creation of the new one. Proxmox destroys a VM with everything that is attached to it, so the disks have to be
 * elsewhere.
 */

import { type Address, keeperOf } from '../../base/address.ts';
import type { Where } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { nodeCommand } from '../../base/text/node-command.ts';
import type { PackedEntry } from './config/packed.ts';

const NAME_MAX = 63;
const SUFFIX = '-kept-disks';

export function holderName(vm: string): string {
  return `${vm.slice(0, NAME_MAX - SUFFIX.length).replace(/[-.]+$/, '')}${SUFFIX}`;
}

/** Protected, so that no client removes it by mistake. */
export function holderConfig(of: string): PackedEntry[] {
  const text = `Holds the kept disks of "${of}" while Proxwright replaces it. Do not delete this VM: the next apply takes the disks back and removes it.`;
  return [
    { key: 'protection', desired: { kind: 'value', text: '1' } },
    { key: 'description', desired: { kind: 'notes', text, ownership: 'complete' } },
  ];
}

export interface LostDisk {
  readonly holder: Address;
  readonly vmid: number;
  readonly node: string;
  readonly slot: string;
  /** Its last known volume name. */
  readonly volume: string;
  /** Whether the VM that held it is gone, too. */
  readonly isHolderGone: boolean;
  readonly where?: Where;
}

/** Proxmox takes a disk from one VM before it attaches it to the other: a node that fails in between leaves it with neither. */
export function lostDisk({ holder, vmid, node, slot, volume, isHolderGone, where }: LostDisk): ProxwrightError {
  const vm = keeperOf(holder);
  const found = isHolderGone
    ? `VM ${vmid}, which held the disk, is gone.`
    : `Neither the VM nor VM ${vmid} on ${node}, which holds its disks during a replacement, has it.`;
  const search = isHolderGone
    ? `Look for the volume on ${node}: ${nodeCommand('pvesm list', [volume.split(':')[0] ?? ''])}`
    : `On ${node}, find it (${nodeCommand('qm disk rescan', [], { vmid })}), attach it (${nodeCommand('qm set', [vmid], { [slot]: 'VOLUME' })}), and repeat the command`;
  return new ProxwrightError({
    code: 'NOT_FOUND',
    where: where ?? { address: vm },
    detail: `The kept disk ${slot} of ${vm} is missing; it was ${volume}. ${found} Nothing was changed.`,
    hint: advice`${search}. To give the disk up: ${command('state forget', holder)}`,
  });
}
