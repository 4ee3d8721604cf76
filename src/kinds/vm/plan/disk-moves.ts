/**
 * Disks that the file puts on another storage or into another format: which of them move, which wait until the VM is off,
 * the steps, and the room they need. Pure.
 */
import { printByteSize } from '../../../base/values/units.ts';
import type { Difference } from '../../change.ts';
import type { Findings } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import type { Step } from '../../step.ts';
import type { DesiredConfig, DesiredEntry } from '../config/desired.ts';
import { type Drive, findCloudInitDrive, movesOnlyOffline, parseDrive, storageOf } from '../config/disks.ts';
import { actualOf } from '../diff/merge.ts';
import type { ResolvedVm } from '../stack.ts';
import { type MoveDiskInput, vmStep } from '../steps.ts';
import { isThin, needRoom } from './checks/room.ts';
import type { VmPlanInput } from './desired-vm.ts';

export interface DiskMove extends MoveDiskInput {
  readonly isOffline: boolean;
  /** It shares data with its template until it is moved. */
  readonly isLinked: boolean;
}

/** The moves behind these differences. `values`: what the VM has. */
export function diskMoves(
  differences: readonly Difference[],
  desired: DesiredConfig,
  values: ReadonlyMap<string, string>,
  { node, bytesPerSecond }: { readonly node: string; readonly bytesPerSecond: number | undefined },
): DiskMove[] {
  const kibPerSecond = bytesPerSecond === undefined ? undefined : Math.max(1, Math.floor(bytesPerSecond / 1024));
  const keys = new Set(differences.filter((each) => isMove(each, desired)).map(({ key }) => key));
  return [...keys].flatMap((key): DiskMove[] => {
    const entry = desired.get(key);
    const text = entry && actualOf(entry, values);
    if (!entry || text === undefined) return [];
    const drive = driveOf(entry, text, values);
    const { storage = storageOf(drive) ?? '', format } = volumeOf(entry);
    return [
      {
        slot: drive.key,
        node,
        from: storageOf(drive) ?? '',
        storage,
        ...(format !== undefined && { format: format as MoveDiskInput['format'] & string }), // one of the words of its field
        ...(drive.sizeBytes !== undefined && { sizeBytes: drive.sizeBytes }),
        ...(kibPerSecond !== undefined && { kibPerSecond }),
        isOffline: movesOnlyOffline(drive),
        isLinked: /[:/]base-\d+-/.test(drive.file),
      },
    ];
  });
}

/** Whether the difference means that a disk has to move, rather than that the drive has to be written. */
export function isMove({ key, path }: Difference, desired: DesiredConfig): boolean {
  const field = desired.get(key)?.fields.find((each) => each.path === path);
  return field?.parts[0] === 'storage' || field?.parts[0] === 'format';
}

/** A cloud-init drive may be in another slot than its key. */
function driveOf(entry: DesiredEntry, text: string, values: ReadonlyMap<string, string>): Drive {
  const found = entry.desired.kind === 'cloud-init-drive' ? findCloudInitDrive(values) : undefined;
  return found ?? parseDrive(entry.key, text);
}

function volumeOf({ desired }: DesiredEntry): {
  readonly storage?: string | undefined;
  readonly format?: string | undefined;
} {
  if (desired.kind === 'cloud-init-drive') return { storage: desired.storage };
  return desired.kind === 'disk' ? desired : {};
}

/** What can be done without a restart: drives that move only while the VM is off stay where they are for now. */
export function withoutOfflineMoves(
  desired: DesiredConfig,
  differences: readonly Difference[],
  values: ReadonlyMap<string, string>,
): { readonly desired: DesiredConfig; readonly postponed: readonly string[] } {
  const waiting = differences.filter((each) => {
    const entry = desired.get(each.key);
    const text = entry && actualOf(entry, values);
    return (
      text !== undefined && isMove(each, desired) && movesOnlyOffline(driveOf(entry as DesiredEntry, text, values))
    ); // it has a text
  });
  const entries = [...desired].map(([key, entry]): [string, DesiredEntry] => {
    const text = waiting.some((each) => each.key === key) ? actualOf(entry, values) : undefined;
    return [key, text === undefined ? entry : stayingAt(entry, storageOf(driveOf(entry, text, values)) ?? '')];
  });
  return { desired: new Map(entries), postponed: waiting.map(({ path }) => path) };
}

function stayingAt(entry: DesiredEntry, storage: string): DesiredEntry {
  const { desired } = entry;
  if (desired.kind !== 'disk' && desired.kind !== 'cloud-init-drive') return entry;
  return {
    ...entry,
    desired: { ...desired, storage },
    fields: entry.fields.map((field) => (field.parts[0] === 'storage' ? { ...field, value: storage } : field)),
  };
}

export function moveSteps(
  { address }: ResolvedVm,
  moves: readonly DiskMove[],
  isMeant: (move: DiskMove) => boolean = () => true,
): Step[] {
  return moves
    .filter(isMeant)
    .map(({ isOffline: _, isLinked: __, ...input }) => vmStep(address, 'vm.move-disk', input, { part: input.slot }));
}

/** `the 20GiB in scsi0 move from tank to ceph`: one line of a plan. */
export function describeMove({ slot, from, storage, format, sizeBytes }: MoveDiskInput): string {
  const what = sizeBytes === undefined ? slot : `${slot} (${printByteSize(sizeBytes)})`;
  const as = format === undefined ? '' : ` as ${format}`;
  return from === storage
    ? `${what} is converted${as} on ${storage}; the source is deleted last`
    : `${what} moves from ${from} to ${storage}${as}; the source is deleted last`;
}

/** Counts the space that the targets need, and notes what was not checked and what the move changes. */
export function checkMoves(
  { vm, observed }: Pick<VmPlanInput, 'vm' | 'observed'>,
  moves: readonly DiskMove[],
  findings: Findings,
): string[] {
  return moves.flatMap(({ slot, node, storage, sizeBytes = 0, isLinked }) => {
    needRoom(findings, vm, { node, storage, bytes: sizeBytes });
    return [
      ...(isLinked
        ? [`${slot} is linked to its template; once moved, it is a full copy that takes its own space`]
        : []),
      ...roomNote(observed, node, storage),
    ];
  });
}

function roomNote({ storages }: Observed, node: string, storage: string): string[] {
  const rows = storages.get(node);
  const row = rows?.ok ? rows.value.find((each) => each.storage === storage) : undefined;
  if (row && (isThin(row) || row.availableBytes !== undefined)) return [];
  return [`not checked: whether ${storage} on ${node} has room for it; the token needs Datastore.Audit on it`];
}
