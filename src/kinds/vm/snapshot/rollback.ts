/** What a rollback does to one VM: what is restored, what is lost, what stays behind, and what prevents it. Pure. */

import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import { printByteSize } from '../../../base/values/units.ts';
import type { ResourcePlan, SnapshotContext } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import { isCreationUnfinished } from '../../recorded.ts';
import type { Step } from '../../step.ts';
import { type Drive, drivesOf, storageOf } from '../config/disks.ts';
import { propertyOf } from '../config/parts.ts';
import { sameVm, vmName } from '../identity.ts';
import { observedHa } from '../observe/ha.ts';
import { readyStep } from '../plan/desired-vm.ts';
import { isLeftStopped } from '../relocate/residents.ts';
import { vmStep } from '../steps.ts';
import { snapshotsWith } from './obstacles.ts';
import { differingKeys, type Snapshot } from './snapshots.ts';
import { changeOf, noSuch, type Subject, unfinished } from './subject.ts';

type Rollback = Extract<SnapshotContext['request'], { kind: 'rollback' }>;
type Config = ReadonlyMap<string, string>;

export function rollbackOf(
  subject: Subject,
  request: Rollback,
  context: SnapshotContext,
): { readonly plan?: ResourcePlan; readonly problems: readonly Diagnostic[] } {
  const { address, snapshots, recorded } = subject;
  const snapshot = snapshots.list.find(({ name }) => name === request.name);
  const config = snapshots.configs.get(request.name);
  if (!snapshot || !config) return { problems: [noSuch(request.name, [subject])] };
  const problems = [
    ...(isCreationUnfinished(recorded) ? [unfinished(address, subject.name)] : []),
    ...incomplete(subject, snapshot),
    ...otherIdentity(subject, snapshot, config),
    ...newerSnapshots(subject, snapshot, config, context.observed),
  ];
  return problems.length > 0 ? { problems } : { plan: planOf(subject, snapshot, config, request, context), problems };
}

function refused({ address, vm }: Subject, detail: string, hint: ReturnType<typeof advice> | string): Diagnostic {
  return new ProxwrightError({
    code: 'CANNOT_SNAPSHOT',
    where: { address },
    detail: `${vmName(vm)} cannot be rolled back: ${detail}`,
    hint,
  }).diagnostic;
}

/** Rule [source pve-guest-common AbstractConfig.pm snapshot_rollback]: Proxmox refuses it, too. */
function incomplete(subject: Subject, { name, state }: Snapshot): Diagnostic[] {
  if (state === undefined) return [];
  return [
    refused(
      subject,
      `its snapshot ${name} is not complete (${state}); the task that worked on it was interrupted.`,
      advice`Delete it, and choose another one: ${command('snapshot delete', name, '--only', subject.address)}`,
    ),
  ];
}

/**
 * The uuid comes from the snapshot. After a rollback to one that is older than the record, Proxwright would no longer
 * recognise the VM.
 */
function otherIdentity(subject: Subject, { name }: Snapshot, config: Config): Diagnostic[] {
  const { address, vm, recorded } = subject;
  const uuid = propertyOf('smbios1', config.get('smbios1')).get('uuid');
  if (sameVm(recorded, { vmid: vm.vmid, uuid })) return [];
  return [
    refused(
      subject,
      `in its snapshot ${name} it has ${uuid === undefined ? 'no uuid' : `the uuid ${uuid}`}, and the state records ${recorded.uuid}. The snapshot is older than that identity, so the VM would not be recognised afterwards.`,
      advice`Roll it back on ${vm.node} (${nodeCommand('qm rollback', [vm.vmid, name])}), then take it over again: ${command('import', address, vm.vmid, '--accept-identity')}`,
    ),
  ];
}

/**
 * Rule [source pve-storage ZFSPoolPlugin.pm and LVMPlugin.pm volume_rollback_is_possible]: these storages restore only
 * the newest snapshot of a volume. Whether a directory keeps snapshots as a chain of files cannot be read; there
 * Proxmox refuses by itself, before it stops the VM.
 */
function newerSnapshots(
  subject: Subject,
  { name, takenAt = 0 }: Snapshot,
  config: Config,
  observed: Observed,
): Diagnostic[] {
  const { vm, snapshots } = subject;
  const rows = observed.storages.get(vm.node);
  const types = new Map(rows?.ok ? rows.value.map(({ storage, type }) => [storage, type]) : []);
  const newer = snapshots.list.filter((each) => each.name !== name && (each.takenAt ?? 0) >= takenAt);
  const held = drivesOf(config).flatMap((drive) => {
    const type = drive.kind === 'disk' ? types.get(storageOf(drive) ?? '') : undefined;
    if (type !== 'zfspool' && type !== 'zfs' && type !== 'lvm') return [];
    return snapshotsWith(drive.file, { ...snapshots, list: newer });
  });
  const names = [...new Set(held)];
  const [newest] = names.slice(-1);
  if (newest === undefined) return [];
  return [
    refused(
      subject,
      `its storage can restore only the newest snapshot, and ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} newer than ${name}.`,
      advice`Delete the newer ones first, the newest before the others: ${command('snapshot delete', newest, '--only', subject.address)}`,
    ),
  ];
}

function planOf(
  subject: Subject,
  snapshot: Snapshot,
  config: Config,
  { start }: Rollback,
  { stack, observed }: SnapshotContext,
): ResourcePlan {
  const { address, vm, recorded, desired } = subject;
  const isUp = vm.running || isLeftStopped(vm, desired, recorded);
  const lost = missingMedia(config, vm.current);
  const startsAgain = isUp && start && !snapshot.hasMemory && lost.length === 0;
  const ends = startsAgain || (snapshot.hasMemory && isUp);
  const { name } = snapshot;
  const steps: Step[] = [
    vmStep(address, 'vm.rollback', { name, ...(isUp && { startsAgain: true }) }),
    ...(startsAgain ? [vmStep(address, 'vm.start', {})] : []),
    ...(ends && desired ? [readyStep(desired, stack.rollout.timeouts.readyMs)] : []),
  ];
  const notes = [
    'data written to its disks since then is lost; newer snapshots stay',
    ...powerNotes(subject, snapshot, startsAgain),
    ...keyNotes(config, vm.current),
    ...diskNotes(config, vm.current),
    ...lost,
    ...(vm.pending.size > 0
      ? [`changes that wait for a restart are dropped: ${[...vm.pending.keys()].join(', ')}`]
      : []),
    ...haNotes(vm, observed),
  ];
  const reason = `You asked for its snapshot ${name}${snapshot.takenAt === undefined ? '' : ` of ${printTime(snapshot.takenAt)}`}.`;
  const chained = steps.map((step, index) => ({ ...step, needs: steps.slice(index - 1, index).map(({ id }) => id) }));
  return { change: { ...changeOf(subject, reason), notes }, steps: chained };
}

function printTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function powerNotes({ vm }: Subject, { hasMemory }: Snapshot, startsAgain: boolean): string[] {
  const stop = vm.running ? ['Proxmox stops it immediately, without shutting the guest down'] : [];
  const then = hasMemory
    ? ['it runs afterwards, with the memory of the snapshot']
    : vm.running && !startsAgain
      ? ['it stays stopped; the next apply starts it']
      : [];
  return [...stop, ...then];
}

/** Names only: a value may be a secret. */
function keyNotes(then: Config, now: Config): string[] {
  const changed = differingKeys(then, now);
  return changed.length > 0 ? [`settings that are restored: ${changed.join(', ')}`] : [];
}

/** Rule [recorded snapshots-tree]: a disk that the snapshot does not know becomes unused and keeps its data. */
function diskNotes(then: Config, now: Config): string[] {
  const known = new Set(drivesOf(then).map(({ file }) => file));
  return drivesOf(now).flatMap((drive) => {
    if (known.has(drive.file)) return [];
    if (drive.kind === 'cloud-init')
      return [`the cloud-init drive ${drive.key} is removed; the next apply creates it again`];
    if (drive.kind !== 'disk') return [];
    return [
      `${drive.key} (${describeVolume(drive)}) is not in the snapshot: it is detached, and its volume stays as an unused disk with its data`,
    ];
  });
}

function describeVolume({ file, sizeBytes }: Drive): string {
  return sizeBytes === undefined ? file : `${file}, ${printByteSize(sizeBytes)}`;
}

/** Volumes with custom cloud-init files are removed once no drive holds them, whatever a snapshot says. */
function missingMedia(then: Config, now: Config): string[] {
  const held = new Set(drivesOf(now).map(({ file }) => file));
  const gone = drivesOf(then).filter(
    ({ file, kind }) => kind === 'cdrom' && /:iso\/proxwright-/.test(file) && !held.has(file),
  );
  return gone.map(
    ({ key, file }) =>
      `${key} refers to ${file} again, which no longer exists: the VM is not started. The next apply writes the cloud-init files again and starts it`,
  );
}

function haNotes(vm: Subject['vm'], observed: Observed): string[] {
  const ha = observedHa(observed, vm.vmid);
  if (!ha || !vm.running) return [];
  return ['it is under HA: the HA manager may try to start it while Proxmox rolls it back'];
}
