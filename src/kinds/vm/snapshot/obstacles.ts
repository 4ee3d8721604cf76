/** What keeps Proxmox from taking a snapshot of a VM, and what a snapshot keeps Proxmox from doing. Pure. */
import type { Diagnostic, Where } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { whereOf } from '../../fields/positions.ts';
import type { Observed } from '../../observed.ts';
import { type Drive, drivesOf, formatOfVolume, parseDrive, storageOf } from '../config/disks.ts';
import { vmName } from '../identity.ts';
import type { VmObserved } from '../observed.ts';
import type { ResolvedVm } from '../stack.ts';
import type { VmSnapshots } from './snapshots.ts';

interface Taking {
  readonly vm: VmObserved;
  readonly snapshots: Pick<VmSnapshots, 'isPossible'>;
  readonly memory: boolean;
  readonly observed: Pick<Observed, 'storages'>;
  readonly where: Where;
}

/** Why a snapshot cannot be taken; none if Proxmox can. */
export function snapshotProblems({ vm, snapshots, memory, observed, where }: Taking): Diagnostic[] {
  const problem = (detail: string, hint: string) =>
    new ProxwrightError({ code: 'CANNOT_SNAPSHOT', where, detail: `${vmName(vm)} ${detail}`, hint }).diagnostic;
  const found: Diagnostic[] = [];
  if (!snapshots.isPossible) {
    const why = drivesOf(vm.current).flatMap((drive) => diskReason(drive, storageType(drive, vm, observed)));
    const details = why.length > 0 ? why.join(' ') : 'One of its disks is on a storage without snapshots.';
    found.push(
      problem(
        `cannot have a snapshot (Proxmox: snapshot feature is not available). ${details}`,
        'Move these disks to a storage with snapshots (LVM-thin, ZFS, Ceph), or to the format qcow2. The state of a TPM needs the same.',
      ),
    );
  }
  const held = memory && vm.running ? memoryReasons(vm.current) : [];
  if (held.length > 0) {
    found.push(
      problem(
        `cannot have its memory in a snapshot: ${held.join('; ')}.`,
        'Take the snapshot without memory, or shut the VM down first.',
      ),
    );
  }
  return found;
}

/** Storages whose volumes can have snapshots whatever their format. */
const WITH_SNAPSHOTS: ReadonlySet<string> = new Set(['lvmthin', 'zfspool', 'zfs', 'rbd', 'btrfs']);
/** Storages of files. */
const OF_FILES: ReadonlySet<string> = new Set(['dir', 'nfs', 'cifs', 'glusterfs', 'cephfs']);

/**
 * Rule [recorded snapshots-unsupported; source pve-storage volume_has_feature of each plugin]: Proxmox says only that the
 * whole VM has no snapshots; this says which disk, and why.
 */
function diskReason(drive: Drive, type: string | undefined): string[] {
  if (drive.kind !== 'disk' || (type !== undefined && WITH_SNAPSHOTS.has(type))) return [];
  const format = formatOfVolume(drive);
  if (format === 'qcow2') return [];
  const what = `${drive.key} (${drive.file})`;
  if (type === undefined) return [`${what} may be the reason: the token may not read its storage.`];
  if (OF_FILES.has(type)) return [`${what} is a ${format ?? 'raw'} file; among file formats only qcow2 has snapshots.`];
  if (type === 'lvm') return [`${what} is on LVM without thin provisioning; there only qcow2 volumes have snapshots.`];
  return [`${what} is on a storage of type ${type}, which has no snapshots.`];
}

function storageType(drive: Drive, { node }: VmObserved, { storages }: Taking['observed']): string | undefined {
  const rows = storages.get(node);
  return rows?.ok ? rows.value.find(({ storage }) => storage === storageOf(drive))?.type : undefined;
}

/**
 * Rule [source qemu-server QemuMigrate/Helpers.pm check_non_migratable_resources] for all but PCI devices, which QEMU itself
 * refuses to save [assumed: QEMU blocks savevm for vfio devices].
 */
function memoryReasons(current: ReadonlyMap<string, string>): string[] {
  const keys = [...current.keys()];
  const named = (pattern: RegExp, what: string) => {
    const found = keys.filter((key) => pattern.test(key));
    return found.length > 0 ? [`${what} (${found.join(', ')})`] : [];
  };
  return [
    ...named(/^hostpci\d+$/, 'QEMU cannot save a PCI device of the host'),
    ...named(/^virtiofs\d+$/, 'Proxmox cannot save shared directories'),
    ...named(/^(amd-sev|intel-tdx)$/, 'Proxmox cannot save encrypted memory'),
  ];
}

/** Names of the snapshots that need this volume, oldest first. */
export function snapshotsWith(volume: string, { list, configs }: VmSnapshots): string[] {
  return list.flatMap(({ name }) =>
    drivesOf(configs.get(name) ?? new Map<string, string>()).some(({ file }) => file === volume) ? [name] : [],
  );
}

/** Disks that the file moves or removes although a snapshot needs their volumes. */
export function heldDisks(
  { vm, observed }: { readonly vm: ResolvedVm; readonly observed: Observed },
  actual: VmObserved,
  moves: readonly { readonly slot: string }[],
  removed: ReadonlySet<string>,
): Diagnostic[] {
  const { address } = vm;
  const read = observed.snapshots?.get(address);
  if (!read?.ok) return [];
  const meant = [
    ...moves.map(({ slot }) => ({ slot, what: 'moved' as const })),
    ...[...removed].map((slot) => ({ slot, what: 'removed' as const })),
  ];
  return meant.flatMap(({ slot, what }) => {
    const text = actual.current.get(slot);
    const names = text === undefined ? [] : snapshotsWith(parseDrive(slot, text).file, read.value);
    if (names.length === 0) return [];
    return [heldBySnapshots({ address, vm: actual, slot, what, names, where: whereOf(vm, `disks.${slot}`) })];
  });
}

interface HeldDisk {
  readonly address: string;
  readonly vm: VmObserved;
  readonly slot: string;
  /** What the file does with it. */
  readonly what: 'moved' | 'removed';
  readonly names: readonly string[];
  readonly where: Where;
}

/**
 * Rule [recorded move-disk, snapshots-tree]: a disk in a snapshot is not moved with its source deleted ("you can't move a
 * disk with snapshots and delete the source"), nor removed ("volume is still in use (snapshot?)").
 */
function heldBySnapshots({ address, vm, slot, what, names, where }: HeldDisk): Diagnostic {
  const [first = ''] = names;
  return new ProxwrightError({
    code: 'IN_USE',
    where,
    detail: `${slot} of ${vmName(vm)} cannot be ${what}: its volume is part of ${names.length === 1 ? 'the snapshot' : 'the snapshots'} ${names.join(', ')}.`,
    hint: advice`Delete what you no longer need first: ${command('snapshot delete', first, '--only', address)}`,
  }).diagnostic;
}
