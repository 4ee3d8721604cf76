/**
 * The requests that give a VM its desired configuration: usually one write, two where a CD drive would change the boot
 * order or a new EFI disk gets certificates, and the resizes. Pure; digest, waiting and reading back are left to the actions.
 */
import type { Secret } from '../../../base/secret.ts';
import { parseBootOrder, printBootOrder } from '../../../pve/wire/index.ts';
import { effectOf, isProtected } from '../diff/effects.ts';
import { actualOf, mergedText, unsatisfied } from '../diff/merge.ts';
import { effectiveValues, staleSizes, type VmObserved } from '../observed.ts';
import type { DesiredValue } from './desired.ts';
import { isDriveKey, markedLater, parseDrive } from './disks.ts';

export interface ConfigWrite {
  readonly set: Readonly<Record<string, string | Secret>>;
  readonly delete: readonly string[];
  /** `force`: removes the volumes of deleted disks, which would otherwise stay as unused. */
  readonly destroysVolumes: boolean;
  /**
   * Volumes are created, attached or removed: sent as a task, because it may take longer than a request is allowed to.
   */
  readonly touchesDrives: boolean;
}

/**
 * If a running VM is both resized and configured, resize first: a pending change keeps the size that the disk had when it
 * was written.
 */
export interface Resize {
  readonly disk: string;
  readonly sizeBytes: number;
}

/** The writes in order; none if nothing differs. `secretKeys`: values to send although they cannot be compared. */
export function configureWrites(
  desired: Iterable<DesiredValue>,
  observed: VmObserved,
  secretKeys: ReadonlySet<string> = new Set(),
): readonly ConfigWrite[] {
  const values = effectiveValues(observed);
  const all = [...desired];
  const open = new Set(unsatisfied(all, values));
  const stale = staleSizes(observed);
  const set = new Map<string, string | Secret>();
  const deletes: string[] = [];
  for (const value of all) {
    if (!open.has(value) && !secretKeys.has(value.key) && !stale.has(value.key)) continue;
    const change = stale.has(value.key) ? resent(value, values) : changeOf(value, actualOf(value, values));
    if (change === 'delete') deletes.push(value.key);
    else if (change !== 'nothing') set.set(value.key, change.text);
  }
  const ownBoot = all.find(({ key }) => key === 'boot')?.desired;
  const boot = ownBoot === undefined ? bootAfter(values, deletes) : set.get('boot');
  const disturbs = [...set].some(([key, text]) => joinsBootOrder(key, text, observed.current.get('boot')));
  set.delete('boot');
  if (boot !== undefined && !disturbs) set.set('boot', boot);
  const protection = set.get('protection');
  const writes: ConfigWrite[] = [];
  // Proxmox checks the protection in effect, so it has to be off before disks can be removed.
  if (protection !== undefined && isProtected(observed.current) && deletes.some(isDriveKey)) {
    set.delete('protection');
    writes.push(configWrite(new Map([['protection', protection]]), []));
  }
  writes.push(configWrite(set, deletes));
  // Proxmox handles keys in random order and appends a CD drive to the boot order: in one request the result is random.
  if (disturbs && ownBoot?.kind === 'value') writes.push(configWrite(new Map([['boot', ownBoot.text]]), []));
  for (const { key, desired: value } of all) {
    const text = value.kind === 'disk' && set.has(key) && !values.has(key) ? markedLater(key, value) : undefined;
    if (text !== undefined) writes.push(configWrite(new Map([[key, text]]), []));
  }
  return writes.filter((write) => Object.keys(write.set).length > 0 || write.delete.length > 0);
}

/**
 * The parameters of a new VM that is not a clone. Proxmox generates the uuid of a VM only if the request has no `smbios1`:
 * its texts are written once the VM exists.
 */
export function creationValues(desired: Iterable<DesiredValue>): Readonly<Record<string, string | Secret>> {
  const values = [...desired].flatMap((value) => {
    if (value.key === 'smbios1') return [];
    const change = changeOf(value, undefined);
    return typeof change === 'string' ? [] : [[value.key, change.text] as const];
  });
  return Object.fromEntries(values);
}

/** Disks that must grow, with absolute sizes, so that repeating is harmless. A disk that waits for a restart cannot grow yet. */
export function resizesNeeded(desired: Iterable<DesiredValue>, observed: VmObserved): readonly Resize[] {
  const values = effectiveValues(observed);
  return [...desired].flatMap(({ key, desired: value }) => {
    const text = values.get(key);
    if (value.kind !== 'disk' || value.sizeBytes === undefined || text === undefined) return [];
    const drive = parseDrive(key, text);
    const isSmaller = drive.kind === 'disk' && (drive.sizeBytes ?? 0) < value.sizeBytes;
    return isSmaller && observed.current.has(key) ? [{ disk: key, sizeBytes: value.sizeBytes }] : [];
  });
}

/** Disks that will be created from an image and must grow after that; those that wait for a restart cannot grow yet. */
export function resizesAfterMaking(desired: Iterable<DesiredValue>, observed: VmObserved): readonly Resize[] {
  const { current, running } = observed;
  const values = effectiveValues(observed);
  return [...desired].flatMap(({ key, desired: value }) => {
    if (value.kind !== 'disk' || value.sizeBytes === undefined || value.create === undefined || values.has(key))
      return [];
    if (!value.create.includes(',import-from=')) return [];
    const { effect } = effectOf({ key, before: undefined, after: value.create, running, current });
    return effect === 'live' ? [{ disk: key, sizeBytes: value.sizeBytes }] : [];
  });
}

type KeyWrite = { readonly text: string | Secret } | 'delete' | 'nothing';

function changeOf({ key, desired }: DesiredValue, actual: string | undefined): KeyWrite {
  if (desired.kind === 'secret') return { text: desired.value };
  const text = mergedText(key, desired, actual);
  if (text === undefined || text === '') return actual === undefined ? 'nothing' : 'delete';
  // Only the size differs, or something that cannot be changed.
  const isSame = actual !== undefined && isDriveKey(key) && withoutSize(key, text) === withoutSize(key, actual);
  return isSame ? 'nothing' : { text };
}

/** Proxmox measures a volume whenever its drive is written, which corrects a wrong recorded size. */
function resent({ key, desired }: DesiredValue, values: ReadonlyMap<string, string>): KeyWrite {
  const text = desired.kind === 'disk' ? mergedText(key, desired, values.get(key)) : undefined;
  return text === undefined ? 'nothing' : { text };
}

function withoutSize(key: string, text: string): string {
  return JSON.stringify([...parseDrive(key, text).value.without('size').entries].sort());
}

function configWrite(set: ReadonlyMap<string, string | Secret>, deletes: readonly string[]): ConfigWrite {
  return {
    set: Object.fromEntries(set),
    delete: deletes,
    destroysVolumes: deletes.some(isDriveKey),
    touchesDrives: [...set.keys(), ...deletes].some(isDriveKey),
  };
}

/** Proxmox shortens the boot order itself, but from the values in effect: a pending order would be lost. */
function bootAfter(values: ReadonlyMap<string, string>, deletes: readonly string[]): string | undefined {
  const text = values.get('boot');
  const order = text === undefined ? undefined : parseBootOrder(text);
  if (order?.kind !== 'order') return undefined;
  const devices = order.devices.filter((device) => !deletes.includes(device));
  return devices.length === order.devices.length || devices.length === 0 ? undefined : printBootOrder(devices);
}

/** Whether Proxmox will append this drive to the boot order: any CD drive in a request that is not in it. */
function joinsBootOrder(key: string, text: string | Secret, boot: string | undefined): boolean {
  if (typeof text !== 'string' || !isDriveKey(key) || parseDrive(key, text).kind !== 'cdrom') return false;
  const order = boot === undefined ? undefined : parseBootOrder(boot);
  return order?.kind === 'order' && order.devices.length > 0 && !order.devices.includes(key);
}
