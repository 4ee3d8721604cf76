/**
 * What keeps a VM on its node: devices of the node, media in local storage, disks that Proxmox cannot copy, locks. Each
 * obstacle is known before anything moves, and comes with the line of the file and a way out. Pure.
 */
import { advice, type Hint, setting } from '../../../base/hint.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import type { HaResource } from '../../../pve/index.ts';
import { fromWireBoolean, splitProperty } from '../../../pve/wire/index.ts';
import type { StorageRow } from '../../cluster.ts';
import type { Observed } from '../../observed.ts';
import { type Drive, drivesOf, parseDrive } from '../config/disks.ts';
import { propertyOf } from '../config/parts.ts';
import { taskName, unlockHint } from '../lock.ts';
import type { VmObserved } from '../observed.ts';

/** A VM of the stack, and the facts that decide how it can move. */
export interface Mover {
  readonly vm: VmObserved;
  readonly ha: HaResource | undefined;
}

export interface Obstacle {
  /** Field of the file that it comes from; empty for the whole VM. */
  readonly path: string;
  /** Completes "VM 101 on pve1 …". */
  readonly what: string;
  readonly hint: Hint | string;
  /** It does not apply while the VM is stopped. */
  readonly isLiveOnly?: true;
}

/** `offline` completes the hint where the VM can move if it is shut down: how the user allows that. */
export function obstaclesOf(mover: Mover, observed: Observed, offline: Hint): Obstacle[] {
  return [
    ...lockObstacle(mover.vm, observed),
    ...deviceObstacles(mover.vm, observed, offline),
    ...memoryObstacles(mover.vm, offline),
    ...clipboardObstacle(mover.vm, observed, offline),
    ...driveObstacles(mover, observed, offline),
    ...highAvailabilityObstacle(mover, observed, offline),
  ];
}

/** Whether the HA manager moves it; it does not manage an ignored resource. */
export function isManagedByHa({ ha }: Pick<Mover, 'ha'>): boolean {
  return ha !== undefined && ha.state !== 'ignored';
}

/** The lock of a migration is no obstacle: it may belong to an interrupted run of ours, so the move waits for it. */
function lockObstacle({ vmid, lock }: VmObserved, { locks }: Observed): Obstacle[] {
  if (lock === undefined || lock === 'migrate') return [];
  const held = locks.get(vmid);
  const by = held?.holder.kind === 'task' ? ` by ${taskName(held.holder.task)}` : '';
  const hint = (held && unlockHint(held)) || 'Wait until the task has ended, then run the command again.';
  return [{ path: '', what: `is locked (${lock})${by}.`, hint }];
}

/**
 * Rule [source QS QemuMigrate/Helpers.pm check_local_resources, since Proxmox VE 8.4]: sockets are created again on the
 * target, and a PCI device moves with a running VM if its mapping says `live-migration-capable`.
 */
function deviceObstacles({ current }: VmObserved, { livePciMappings: live }: Observed, offline: Hint): Obstacle[] {
  return [...current].flatMap(([key, text]): Obstacle[] => {
    const kind = /^(hostpci|usb|serial|parallel|virtiofs)\d+$/.exec(key)?.[1];
    if (kind === undefined || /^(socket|spice)/.test(text)) return [];
    const path = fieldOf(key);
    const mapping = mappingOf(key, text);
    if (kind === 'hostpci' && mapping !== undefined && live?.has(mapping)) return [];
    if (kind !== 'virtiofs' && mapping === undefined) {
      return [
        {
          path,
          what: `uses ${key}, a device of its node${kind === 'hostpci' ? ' (PCI passthrough)' : ''}: ${text}.`,
          hint:
            kind === 'hostpci' || kind === 'usb'
              ? `Use a mapping that names the device of every node, or remove ${key} from the VM before you move it.`
              : `Remove ${key} from the VM before you move it.`,
        },
      ];
    }
    return [
      {
        path,
        what: `uses ${key}, and Proxmox does not move a running VM with a ${kind === 'virtiofs' ? 'directory' : 'device'} of its node.`,
        hint: kind === 'hostpci' ? advice`${offline} ${capableHint(mapping)}` : offline,
        isLiveOnly: true,
      },
    ];
  });
}

function capableHint(mapping = ''): string {
  const mark = nodeCommand('pvesh set', [`/cluster/mapping/pci/${mapping}`], { 'live-migration-capable': '1' });
  return `If the device and its driver can move with a running VM, say so in its mapping and restart the VM once: ${mark}`;
}

/** Rules [source QS QemuMigrate/Helpers.pm check_non_migratable_resources and check_local_resources]. */
function memoryObstacles({ current }: VmObserved, offline: Hint): Obstacle[] {
  const encrypted = ENCRYPTED.filter(({ key }) => current.has(key)).map(
    ({ key, path, name }): Obstacle => ({
      path,
      what: `has its memory encrypted by ${name} (${key}), so Proxmox cannot move it while it runs.`,
      hint: offline,
      isLiveOnly: true,
    }),
  );
  if (!current.has('ivshmem')) return encrypted;
  const what = 'shares memory with its node (ivshmem).';
  return [...encrypted, { path: 'extra.ivshmem', what, hint: 'Remove ivshmem from the VM before you move it.' }];
}

const ENCRYPTED = [
  { key: 'amd-sev', path: 'amd_sev', name: 'AMD SEV' },
  { key: 'intel-tdx', path: 'intel_tdx', name: 'Intel TDX' },
] as const;

/** Whether the display has a VNC clipboard, which a VM takes along only from QEMU machine version 10.1 on. */
export function hasVncClipboard({ current }: Pick<VmObserved, 'current'>): boolean {
  return propertyOf('vga', current.get('vga')).get('clipboard') === 'vnc';
}

/** As the preconditions of a migration name it. */
const VNC_CLIPBOARD = 'clipboard=vnc';

/** Rule [source QS API2/Qemu.pm migrate_vm_precondition, QemuMigrate.pm prepare]: the version of the running machine decides. */
function clipboardObstacle({ vmid }: VmObserved, { localResources }: Observed, offline: Hint): Obstacle[] {
  if (!localResources?.get(vmid)?.includes(VNC_CLIPBOARD)) return [];
  return [
    {
      path: 'vga.clipboard',
      what: 'has a VNC clipboard, and Proxmox does not move it while it runs with a machine version before 10.1.',
      hint: offline,
      isLiveOnly: true,
    },
  ];
}

/** The name of the resource mapping that a device uses, if any. */
export function mappingOf(key: string, text: string): string | undefined {
  return /^(hostpci|usb)\d+$/.test(key) ? splitProperty(text).find((part) => part.key === 'mapping')?.value : undefined;
}

/** The field of a stack file for a key of the configuration. */
function fieldOf(key: string): string {
  if (key.startsWith('hostpci')) return `pci.${key}`;
  if (key.startsWith('parallel')) return `extra.${key}`;
  return `${key.replace(/\d+$/, '')}.${key}`;
}

/** A drive, and the storage of the VM's node that it is on; undefined for an empty drive or an unknown storage. */
export interface StoredDrive {
  readonly drive: Drive;
  readonly storage: string;
  readonly isShared: boolean;
}

/** Also unused volumes: Proxmox takes them along. */
export function storedDrives({ vm }: Pick<Mover, 'vm'>, observed: Observed): StoredDrive[] {
  const unused = [...vm.current].filter(([key]) => /^unused\d+$/.test(key)).map(([key, text]) => parseDrive(key, text));
  const rows = observed.storages.get(vm.node);
  return [...drivesOf(vm.current), ...unused].flatMap((drive) => {
    const { volume, value } = drive;
    const storage = volume && 'storage' in volume ? volume.storage : undefined;
    if (storage === undefined) return [];
    const row = rows?.ok ? rows.value.find((each) => each.storage === storage) : undefined;
    const isShared = row?.shared === true || fromWireBoolean(value.get('shared') ?? '0') === true;
    return [{ drive, storage, isShared }];
  });
}

/** Our own volume with custom cloud-init files. */
const isSeedFile = (file: string) => /:iso\/proxwright-[^/]*\.iso$/.test(file);

/** Rule [source QS QemuMigrate.pm scan_local_volumes]. */
function driveObstacles(mover: Mover, observed: Observed, offline: Hint): Obstacle[] {
  const local = storedDrives(mover, observed).filter(({ isShared }) => !isShared);
  const hasSnapshots = mover.vm.current.has('parent');
  return local.flatMap(({ drive, storage }): Obstacle[] => {
    const { key, volume, kind, file } = drive;
    const path = `disks.${key}`;
    if (kind === 'cdrom' && isSeedFile(file)) {
      return [
        {
          path: 'cloud_init.storage',
          what: `has its cloud-init files in ${file}, and "${storage}" belongs to its node alone.`,
          hint: advice`Put them on a storage that all nodes share: ${setting('cloud_init.storage', '…')}`,
        },
      ];
    }
    if (kind === 'cdrom') {
      return [
        {
          path,
          what: `has ${file} in ${key}, and "${storage}" belongs to its node alone.`,
          hint: advice`Put the file on a storage that all nodes share, or empty the drive: ${setting(`disks.${key}.iso`, 'none')}`,
        },
      ];
    }
    if (volume?.kind === 'image' && volume.base) {
      return [
        {
          path,
          what: `is a linked clone: ${key} (${file}) is based on ${volume.base.name}, which stays on this node.`,
          hint: advice`Move the disk to a storage that all nodes share, which makes it independent: ${setting(`disks.${key}.storage`, '…')}`,
        },
      ];
    }
    if (kind === 'disk' && hasSnapshots && !key.startsWith('unused')) {
      return [
        {
          path,
          what: `has snapshots, and Proxmox does not copy ${key} (${file}) with its snapshots while the VM runs.`,
          hint: advice`Delete the snapshots first. ${offline}`,
          isLiveOnly: true,
        },
      ];
    }
    return [];
  });
}

/** Rule [source HA Resources/PVEVM.pm migrate]: the HA manager does not ask for local disks to be copied. */
function highAvailabilityObstacle(mover: Mover, observed: Observed, offline: Hint): Obstacle[] {
  if (!isManagedByHa(mover)) return [];
  const local = storedDrives(mover, observed).filter(
    ({ drive: { kind, key }, isShared }) => !isShared && kind === 'disk' && !key.startsWith('unused'),
  );
  const [first] = local;
  if (!first) return [];
  const slots = local.map(({ drive }) => drive.key).join(', ');
  return [
    {
      path: 'ha',
      what: `is under HA, and the HA manager does not copy local disks while a VM runs: ${slots} on "${first.storage}".`,
      hint: advice`Move the disks to a storage that all nodes share (${setting(`disks.${first.drive.key}.storage`, '…')}), or take the VM out of HA for the time of the move (${setting('ha', false)}). ${offline}`,
      isLiveOnly: true,
    },
  ];
}

/** Local volumes by the storage they need on the target, with their sizes. */
export function copiedVolumes(
  mover: Mover,
  observed: Observed,
  targetStorage: string | undefined,
): Map<string, number> {
  const needed = new Map<string, number>();
  for (const { drive, storage, isShared } of storedDrives(mover, observed)) {
    if (isShared || drive.kind === 'cdrom') continue;
    const target = targetStorage ?? storage;
    needed.set(target, (needed.get(target) ?? 0) + (drive.sizeBytes ?? 0));
  }
  return needed;
}

/** Why this storage of a node cannot serve a VM; undefined where it can. */
export function storageRefusal(
  storage: string,
  rows: readonly StorageRow[],
  content: 'images' | 'iso',
): string | undefined {
  const row = rows.find((each) => each.storage === storage);
  if (!row) return `It has no storage "${storage}" that the token may see.`;
  if (!row.enabled || !row.active) return `Its storage "${storage}" is ${row.enabled ? 'not active' : 'disabled'}.`;
  const what = content === 'images' ? 'disk images' : 'ISO images';
  return row.content.has(content) ? undefined : `Its storage "${storage}" does not hold ${what}.`;
}

/** Bridges that the NICs of a VM are attached to. */
export function bridgesOf({ current }: VmObserved): Set<string> {
  const nics = [...current].filter(([key]) => /^net\d+$/.test(key));
  return new Set(nics.flatMap(([key, text]) => propertyOf(key, text).get('bridge') ?? []));
}
