/**
 * When a change of a key takes effect in a running VM: immediately, after a restart, or never. The rows bound to the key
 * decide, one for each sub-key that differs. The tables below hold only what no row can say: rules about a key as a whole,
 * and keys and sub-keys without a field. Source: vmconfig_hotplug_pending of qemu-server, src/PVE/QemuServer.pm.
 */

import { fromWireBoolean, parseBootOrder } from '../../../pve/wire/index.ts';
import type { FieldChange } from '../../fields/field.ts';
import { hotplugFeatures } from '../../fields/words.ts';
import { isDriveKey, isFixedDrive, parseDrive } from '../config/disks.ts';
import { propertyOf } from '../config/parts.ts';
import { hotplugDisk } from '../fields/effects.ts';
import { rowsOfKey, type WireRow } from '../fields/rows.ts';

export interface KeyChange {
  readonly key: string;
  /** In effect now; undefined where the key is absent. */
  readonly before: string | undefined;
  /** To be written; undefined deletes the key. */
  readonly after: string | undefined;
  readonly running: boolean;
  /** The whole configuration in effect: what may be hotplugged, which guest it is, what it boots from. */
  readonly current: ReadonlyMap<string, string>;
  /** Protection is switched off by the same change. */
  readonly unprotects?: boolean;
}

export type ChangeEffect =
  | { readonly effect: 'live' | 'restart' }
  | { readonly effect: 'impossible'; readonly reason: string };

export function effectOf(change: KeyChange): ChangeEffect {
  const refusal = isDriveKey(change.key) ? driveRefusal(change) : undefined;
  if (refusal !== undefined) return { effect: 'impossible', reason: refusal };
  return { effect: !change.running || isLive(change) ? 'live' : 'restart' };
}

function isLive(change: KeyChange): boolean {
  const { key, before, after } = change;
  const rows = rowsOfKey(key);
  const family = rows[0]?.family;
  if (family === undefined) return LIVE_KEYS_WITHOUT_FIELD.test(key);
  const plug = rows.find(({ words }) => words === 'removal');
  if (plug && isPlugging(change, family)) return isRowLive(plug, change, undefined);
  const asWhole =
    before === undefined || after === undefined ? undefined : WHOLE_KEY_RULES[family]?.(key, before, after);
  return asWhole ?? changedParts(change, rows).every((part) => isPartLive(change, rows, part));
}

/** Whether a device appears, disappears or is replaced. */
function isPlugging({ key, before, after }: KeyChange, family: string): boolean {
  if (before === undefined || after === undefined) return true;
  // vmconfig_update_net: a card that has no bridge, before or after, is replaced whatever changes.
  const hasBridge = (text: string) => propertyOf(key, text).get('bridge') !== undefined;
  return family === 'net' && !(hasBridge(before) && hasBridge(after));
}

/** Rules about a whole value, checked before its sub-keys; undefined if the sub-keys decide. */
const WHOLE_KEY_RULES: Readonly<
  Record<string, ((key: string, before: string, after: string) => boolean | undefined) | undefined>
> = {
  // vmconfig_update_disk: a CD drive takes every change together with its medium.
  drive: (key, before) => (parseDrive(key, before).kind === 'disk' ? undefined : true),
  // vmconfig_update_agent: a plain 0 never changes while the VM runs; if the agent is off, no other option counts.
  agent: (_, before, after) => {
    if (before === '0') return false;
    const isOff = (text: string) => propertyOf('agent', text).get('enabled') !== '1';
    return isOff(before) && isOff(after) ? true : undefined;
  },
};

/** Keys that only `extra` can set and that nothing in the running machine depends on; the others wait for a restart. */
const LIVE_KEYS_WITHOUT_FIELD = /^(shares|lock|vmstatestorage)$/;

/** Keys whose sub-keys without a field do not wait for a restart; elsewhere such a sub-key changes as its siblings do. */
const LIVE_WITHOUT_FIELD: ReadonlySet<string | undefined> = new Set(['drive', 'net']);

/** The sub-keys that differ. The server compares texts: a default written out differs from an absent one. */
function changedParts({ key, before, after }: KeyChange, rows: readonly WireRow[]): (string | undefined)[] {
  if (rows.some(({ part, words }) => part === undefined && words !== 'removal')) return [undefined];
  const [old, desired] = [propertyOf(key, before), propertyOf(key, after)];
  const parts = new Set([...old.entries.keys(), ...desired.entries.keys()]);
  return [...parts].filter((part) => old.get(part) !== desired.get(part));
}

function isPartLive(change: KeyChange, rows: readonly WireRow[], part: string | undefined): boolean {
  const own = rows.filter((row) => row.part === part && row.words !== 'removal');
  if (own.length > 0) return own.every((row) => isRowLive(row, change, part));
  return LIVE_WITHOUT_FIELD.has(rows[0]?.family) || rows.every((row) => isRowLive(row, change, part));
}

function isRowLive({ facts: { effect } }: WireRow, change: KeyChange, part: string | undefined): boolean {
  if (typeof effect === 'string') return effect === 'live';
  const { key, current } = change;
  const textOf = (text: string | undefined) => (part === undefined ? text : propertyOf(key, text).get(part));
  const [before, after] = [textOf(change.before), textOf(change.after)];
  return effect.isLive({ key, before, after, current, features: featuresOf(current) });
}

function featuresOf(current: ReadonlyMap<string, string>): FieldChange['features'] {
  return new Set(hotplugFeatures(current.get('hotplug')));
}

function driveRefusal(change: KeyChange): string | undefined {
  const { key, before, after, running, current } = change;
  if (before === undefined) return undefined;
  const old = parseDrive(key, before);
  if (after === undefined) {
    if (isProtected(current) && !change.unprotects) return `Protection is on, so ${key} cannot be removed.`;
    return running && isPluggedBootDisk(key, current)
      ? `${key} is a disk the running VM boots from and cannot be unplugged; stop the VM first.`
      : undefined;
  }
  const desired = parseDrive(key, after);
  if (old.kind === 'cloud-init' && desired.kind === 'cdrom') return running ? keepsCloudInitVolume(key) : undefined;
  if (old.kind !== desired.kind) return `${key} cannot change between disk, CD drive and cloud-init drive.`;
  if (old.kind === 'cdrom') return undefined;
  if (old.file !== desired.file) return `The volume of ${key} would be replaced by another one.`;
  if (isFixedDrive(key) && changesWhatItIs(change)) return `${key} cannot be changed after it has been created.`;
  return (desired.sizeBytes ?? Infinity) < (old.sizeBytes ?? 0) ? `${key} cannot shrink.` : undefined;
}

/**
 * Proxmox treats a cloud-init drive as a CD drive, but frees its volume on a change of medium only if the VM is
 * stopped.
 */
function keepsCloudInitVolume(key: string): string {
  return `${key} holds Proxmox's cloud-init drive, whose volume would be left behind if a running VM gave it up. Stop the VM first.`;
}

export function isProtected(current: ReadonlyMap<string, string>): boolean {
  return fromWireBoolean(current.get('protection') ?? '0') ?? false;
}

function isPluggedBootDisk(key: string, current: ReadonlyMap<string, string>): boolean {
  const order = parseBootOrder(current.get('boot'));
  const devices = order?.kind === 'order' ? order.devices : [current.get('bootdisk')];
  const change = { key, before: undefined, after: undefined, current, features: featuresOf(current) };
  return hotplugDisk.isLive(change) && devices.includes(key);
}

/** EFI variables and TPM state cannot change after creation. */
function changesWhatItIs(change: KeyChange): boolean {
  const rows = rowsOfKey(change.key).filter(({ facts }) => facts.effect === 'creation');
  return changedParts(change, rows).some((part) => rows.some((row) => row.part === part));
}
