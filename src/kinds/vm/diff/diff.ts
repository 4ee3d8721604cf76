/**
 * What differs between the desired and the observed VM, field by field: old, new, who changed it, and when the change takes
 * effect. It compares with the values after a restart; changes that wait for one are listed apart. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import { byCodeUnit, compareConfigValue } from '../../../pve/wire/index.ts';
import type { Difference } from '../../change.ts';
import { textOfWords, wordsOfText } from '../../fields/words.ts';
import type { DesiredConfig, DesiredEntry, DesiredField } from '../config/desired.ts';
import { diskPartText, diskProblem, movesOnlyOffline, parseDrive, shrinkProblem, storageOf } from '../config/disks.ts';
import { isPartSatisfied, propertyOf } from '../config/parts.ts';
import { rowsOfKey } from '../fields/rows.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { withoutLineage } from '../ownership.ts';
import { type ChangeEffect, effectOf } from './effects.ts';
import { actualOf, isFieldSatisfied, isSatisfied, lacksAddresses, mergedText } from './merge.ts';
import { desiredValue, MASK, shownValue } from './shown.ts';

interface VmDiff {
  readonly differences: readonly Difference[];
  /** Fields whose value is set but waits for a restart. */
  readonly restartPending: readonly string[];
  /** Fields that were removed from the file: kept as they are, no longer managed. */
  readonly unmanaged: readonly string[];
}

export type Recorded = Readonly<Record<string, unknown>> | undefined;

export function diffVm(desired: DesiredConfig, observed: VmObserved, recorded: Recorded): VmDiff {
  const values = effectiveValues(observed);
  const protection = desired.get('protection')?.desired;
  const unprotects = protection !== undefined && isSatisfied('protection', protection, '0');
  const differences: Difference[] = [];
  const restartPending: string[] = [];
  for (const entry of desired.values()) {
    const actual = actualOf(entry, values);
    const all = openFields(entry, actual, recorded);
    const unplugged = all.filter((field) => waitsToGrow(entry, field, observed, actual));
    const open = all.filter((field) => !unplugged.includes(field));
    restartPending.push(...unplugged.map(({ path }) => path));
    const view = { observed, actual, recorded, unprotects };
    differences.push(...open.map((field) => differenceOf(entry, field, view)), ...displaced(entry, open, view));
    if (!observed.running) continue;
    const current = actualOf(entry, observed.current);
    if (current === actual) continue;
    const waiting = entry.fields.filter(
      (field) =>
        !open.includes(field) && isFieldSatisfied(entry, field, actual) && !isFieldSatisfied(entry, field, current),
    );
    restartPending.push(...waiting.map(({ path }) => path));
  }
  const view = { observed, recorded, unprotects };
  if (differences.length > 0) differences.push(...addressesInNotes(desired, values, view));
  const changed = new Set(differences.map(({ path }) => path));
  const unmanaged = unmanagedPaths(desired, recorded).filter((path) => !changed.has(path));
  return { differences, restartPending, unmanaged };
}

/** An older ownership line gets its addresses together with another change, and is no change of its own. */
function addressesInNotes(
  desired: DesiredConfig,
  values: ReadonlyMap<string, string>,
  view: Omit<View, 'actual'>,
): Difference[] {
  return [...desired.values()].flatMap((entry) => {
    const actual = actualOf(entry, values);
    if (!lacksAddresses(entry.desired, actual)) return [];
    const lines = entry.fields.filter(({ parts: [part] }) => part === 'line');
    return lines.map((field) => differenceOf(entry, field, { ...view, actual }));
  });
}

/** A disk that is made but not yet plugged in can be resized only once it is. */
function waitsToGrow(
  { key, desired }: DesiredEntry,
  field: DesiredField,
  { current, running }: VmObserved,
  actual: string | undefined,
): boolean {
  return running && desired.kind === 'disk' && field.parts[0] === 'size' && actual !== undefined && !current.has(key);
}

/** What still differs after a write: empty before a VM may be started. */
export function verifyVm(desired: DesiredConfig, observed: VmObserved): readonly Difference[] {
  const values = effectiveValues(observed);
  return [...desired.values()].flatMap((entry) => {
    const actual = actualOf(entry, values);
    const view = { observed, actual, recorded: undefined, unprotects: false };
    return unsatisfiedFields(entry, actual)
      .filter((field) => !waitsToGrow(entry, field, observed, actual))
      .map((field) => differenceOf(entry, field, view));
  });
}

/** A secret cannot be read, so the recorded digest decides. */
function openFields(entry: DesiredEntry, actual: string | undefined, recorded: Recorded): DesiredField[] {
  const { desired } = entry;
  if (desired.kind === 'secret') {
    return entry.fields.filter(({ path, value }) => actual === undefined || recorded?.[path] !== value);
  }
  const unsatisfied = changedOnly(unsatisfiedFields(entry, actual), recorded);
  const refused = entry.fields.filter(
    (field) => !unsatisfied.includes(field) && creationRefusal(entry, field, actual, recorded) !== undefined,
  );
  const moved = entry.fields.filter((field) => isCloudInitMoved(entry, field, actual, recorded));
  return [...unsatisfied, ...refused, ...moved];
}

/**
 * A cloud-init drive may stay where its template had it; it moves only when the file names another storage than before.
 */
function isCloudInitMoved(
  { key, desired }: DesiredEntry,
  { path, value, parts }: DesiredField,
  actual: string | undefined,
  recorded: Recorded,
): boolean {
  const applied = recorded?.[path];
  if (desired.kind !== 'cloud-init-drive' || parts[0] !== 'storage' || actual === undefined) return false;
  return applied !== undefined && applied !== value && storageOf(parseDrive(key, actual)) !== desired.storage;
}

/** A volume with cloud-init files is compared as a whole; the recorded values show which field changed. */
function changedOnly(fields: readonly DesiredField[], recorded: Recorded): DesiredField[] {
  const changed = fields.filter(
    ({ inCloudInitFile, path, value }) => !inCloudInitFile || !isDeepStrictEqual(recorded?.[path], value),
  );
  return changed.length > 0 ? changed : fields.slice(0, 1);
}

function unsatisfiedFields(entry: DesiredEntry, actual: string | undefined): DesiredField[] {
  if (isSatisfied(entry.key, entry.desired, actual)) return [];
  const fields = entry.fields.filter((field) => !isFieldSatisfied(entry, field, actual));
  return fields.length > 0 ? fields : [{ path: ownerPath(entry.key), value: true, words: 'raw', parts: [] }];
}

/** A device without fields: its presence is desired. */
function ownerPath(key: string): string {
  if (key.startsWith('net')) return `nics.${key}`;
  return /^(ide|sata|scsi|virtio)\d/.test(key) ? `disks.${key}` : key;
}

/** What a difference is computed from. */
interface View {
  readonly observed: VmObserved;
  /** The value after a restart. */
  readonly actual: string | undefined;
  readonly recorded: Recorded;
  readonly unprotects: boolean;
}

/** Limits of a disk that go because Proxmox does not allow them beside the ones that the file sets. */
function displaced(entry: DesiredEntry, open: readonly DesiredField[], view: View): Difference[] {
  const { key, desired } = entry;
  const { actual } = view;
  if (desired.kind !== 'disk' || actual === undefined) return [];
  const rivals = new Map(open.flatMap((field) => field.parts.slice(1).map((part) => [part, field] as const)));
  return rowsOfKey(key).flatMap(({ name, part = '', words }) => {
    const field = rivals.get(part);
    const text = field && diskPartText(key, part, actual);
    if (field === undefined || text === undefined) return [];
    const before = wordsOfText(words, text, key);
    return [{ ...differenceOf(entry, field, view), path: `disks.${key}.${name}`, before, after: null }];
  });
}

function differenceOf(entry: DesiredEntry, field: DesiredField, view: View): Difference {
  const { actual, recorded } = view;
  return {
    path: field.path,
    key: entry.key,
    before: shownBefore(entry, field, actual, recorded),
    after: desiredValue(field),
    by: whoChanged(entry, field, actual, recorded),
    ...fieldEffect(entry, field, view),
    ...((field.words === 'secret' || field.hidden) && { secret: true as const }),
  };
}

function shownBefore(
  entry: DesiredEntry,
  field: DesiredField,
  actual: string | undefined,
  recorded: Recorded,
): unknown {
  // The source of a disk and the contents of cloud-init files are only recorded.
  const isRecordedOnly = field.inCloudInitFile || field.parts[0] === 'import-from';
  return isRecordedOnly && actual !== undefined && field.words !== 'secret'
    ? (recorded?.[field.path] ?? null)
    : shownValue(entry, field, actual);
}

function whoChanged(
  entry: DesiredEntry,
  field: DesiredField,
  actual: string | undefined,
  recorded: Recorded,
): Difference['by'] {
  const applied = recorded?.[field.path];
  if (applied === undefined) return 'file';
  if (isDeepStrictEqual(applied, field.value)) return 'others';
  const before = shownBefore(entry, field, actual, recorded);
  const compared = field.path === 'ownership' && typeof before === 'string' ? withoutLineage(before) : before;
  return field.words === 'secret' || field.hidden || meansTheSame(compared, applied) ? 'file' : 'both';
}

/** Only for deciding who changed a value: ignores order, case and repetition. */
function meansTheSame(a: unknown, b: unknown): boolean {
  const folded = (value: unknown) => (typeof value === 'string' ? value.trim().toLowerCase() : value);
  const normal = (value: unknown) =>
    Array.isArray(value) ? [...new Set(value.map((item) => String(folded(item))))].sort(byCodeUnit) : folded(value);
  return isDeepStrictEqual(normal(a), normal(b));
}

function fieldEffect(entry: DesiredEntry, field: DesiredField, view: View): ChangeEffect {
  const { observed, actual, recorded, unprotects } = view;
  const { key, desired } = entry;
  const [part = ''] = field.parts;
  const isDrive = desired.kind === 'disk' || desired.kind === 'cdrom';
  const reason =
    (isDrive ? diskProblem(key, desired, part, actual) : undefined) ??
    (desired.kind === 'cloud-init-drive' && actual !== undefined ? slotTaken(key, actual) : undefined) ??
    creationRefusal(entry, field, actual, recorded);
  if (reason !== undefined) return { effect: 'impossible', reason };
  const { current, running } = observed;
  // Growing and moving are separate steps.
  if (part === 'size' && actual !== undefined) return { effect: 'live' };
  if (actual !== undefined && isMove(desired, part)) {
    return { effect: running && movesOnlyOffline(parseDrive(key, actual)) ? 'restart' : 'live' };
  }
  // Only the pending value is wrong: writing the desired one drops it, and the running VM has that value already.
  const isInEffect = desired.kind !== 'secret' && isFieldSatisfied(entry, field, actualOf(entry, current));
  if (running && isInEffect) return { effect: 'live' };
  const after = desired.kind === 'secret' ? MASK : mergedText(key, desired, actual);
  return effectOf({ key, before: current.get(key), after, running, current, unprotects });
}

function isMove({ kind }: DesiredEntry['desired'], part: string): boolean {
  return (kind === 'disk' && (part === 'storage' || part === 'format')) || kind === 'cloud-init-drive';
}

function slotTaken(key: string, actual: string): string | undefined {
  if (parseDrive(key, actual).kind === 'cloud-init') return undefined;
  return `${key} is taken, so the cloud-init drive cannot be created there; choose another cloud_init.slot.`;
}

/** Values that count only when a disk is created: a later change is refused, although nothing in the VM shows it. */
function creationRefusal(
  { key, desired }: DesiredEntry,
  field: DesiredField,
  actual: string | undefined,
  recorded: Recorded,
): string | undefined {
  const applied = recorded?.[field.path];
  if (desired.kind !== 'disk' || actual === undefined || applied === field.value) return undefined;
  switch (field.parts[0]) {
    case 'size':
      return shrinkProblem(key, desired.sizeBytes ?? 0, actual);
    case 'import-from':
      return applied === undefined ? undefined : `${key} has been made from ${applied} and is not made again.`;
    default:
      return undefined;
  }
}

function unmanagedPaths(desired: DesiredConfig, recorded: Recorded): string[] {
  const managed = new Set([...desired.values()].flatMap(({ fields }) => fields.map(({ path }) => path)));
  const removed = [...managed]
    .filter((path) => path.endsWith('.remove'))
    .map((path) => path.slice(0, -'remove'.length));
  return (
    Object.entries(recorded ?? {})
      .filter(([path, value]) => !managed.has(path) && value !== null && !path.endsWith('.remove'))
      .map(([path]) => path)
      // A raw key that its field sets by now is managed.
      .filter((path) => !desired.has(/^extra\.(.+)/.exec(path)?.[1] ?? ''))
      .filter((path) => !removed.some((owner) => path.startsWith(owner)))
  );
}

export interface ComparedField {
  /** Field of the file: `nics.net0.vlan`. */
  readonly path: string;
  /** Proxmox's key. */
  readonly key: string;
  /** Both in the syntax of the file; secrets as masks. */
  readonly desired: unknown;
  readonly observed: unknown;
  readonly equal: boolean;
  /** The value is set and takes effect after a restart. */
  readonly restartPending?: true;
}

export function comparedFields(
  desired: DesiredConfig,
  observed: VmObserved,
  recorded: Recorded,
): readonly ComparedField[] {
  const { differences, restartPending } = diffVm(desired, observed, recorded);
  const open = new Map(differences.map((difference) => [difference.path, difference]));
  const values = effectiveValues(observed);
  const fields = [...desired.values()].flatMap((entry) =>
    entry.fields.map((field): ComparedField => {
      const difference = open.get(field.path);
      return {
        path: field.path,
        key: entry.key,
        desired: desiredValue(field),
        observed: difference ? difference.before : shownValue(entry, field, actualOf(entry, values)),
        equal: difference === undefined,
        ...(restartPending.includes(field.path) && { restartPending: true }),
      };
    }),
  );
  const said = new Set(fields.map(({ path }) => path));
  // A device that the file only names has no fields.
  const devices = differences.filter(({ path }) => !said.has(path));
  return [
    ...fields,
    ...devices.map(({ path, key, before, after }) => ({ path, key, desired: after, observed: before, equal: false })),
  ];
}

/** The file sets fields to values that the VM already has: nothing to write, but something to record. */
export function hasMoreToRecord(
  last: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
  desired: DesiredConfig,
  isIgnored: (path: string) => boolean,
): boolean {
  const paths = new Set([...Object.keys(last), ...Object.keys(now)]);
  const isSame = (path: string) =>
    JSON.stringify(last[path]) === JSON.stringify(now[path]) || isSameOnWire(path, last[path], now[path], desired);
  return [...paths].some((path) => !isIgnored(path) && !isSame(path));
}

/** Tags in another order or case, a MAC address in lower case: Proxmox treats them as equal. */
function isSameOnWire(path: string, before: unknown, after: unknown, desired: DesiredConfig): boolean {
  const entry = [...desired.values()].find(({ fields }) => fields.some((field) => field.path === path));
  const field = entry?.fields.find((each) => each.path === path);
  if (!entry || !field) return false;
  const [old, now] = [textOfWords(field.words, before), textOfWords(field.words, after)];
  if (old === undefined || now === undefined) return false;
  const [part] = field.parts;
  if (part === undefined) return compareConfigValue(entry.key, old, now) === 'equal';
  const { key } = entry;
  return (
    entry.desired.kind === 'property' && isPartSatisfied(key, part, old, propertyOf(key, undefined).with(part, now))
  );
}
