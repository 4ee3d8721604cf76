/**
 * A VM as it will be when a step starts: observed if it exists, otherwise computed from the steps that create it. Good
 * enough to know what the next step will write; nothing is ever written from it.
 */
import { Secret } from '../../../base/secret.ts';
import type { AclPath, OneOf } from '../../privileges/need.ts';
import type { DesiredValue } from '../config/desired.ts';
import { isDriveKey, parseDrive } from '../config/disks.ts';
import { type PackedEntry, unpackDesired } from '../config/packed.ts';
import { printPropertyOf, propertyOf } from '../config/parts.ts';
import { type ConfigWrite, creationValues } from '../config/writes.ts';
import type { VmObserved } from '../observed.ts';
import { appendOwnership, printOwnership } from '../ownership.ts';
import type { CloneInput } from '../steps.ts';

export interface VmForecast {
  /** Where privileges on it are looked up. */
  readonly paths: OneOf<AclPath>;
  readonly vm: VmObserved;
  /** The token may not read it, so whether it runs is not known. */
  readonly hidden?: true;
}

/** A VM with a node and an id, and no configuration yet. */
export function emptyVm(vmid: number, node: string): VmObserved {
  return {
    vmid,
    node,
    uuid: undefined,
    digest: '',
    current: new Map(),
    pending: new Map(),
    pendingDeletes: new Set(),
    running: false,
    lock: undefined,
    template: false,
  };
}

/** For the ownership line in its notes. */
export interface Owner {
  readonly stack: string;
  readonly address: string;
}

/** The desired values of a step as its action will have them, without the secrets. */
export function desiredValuesOf(
  desired: readonly PackedEntry[],
  { stack, address }: Owner,
  vm: VmObserved,
): DesiredValue[] {
  const { vmid, uuid } = vm;
  return unpackDesired(desired, { stack, address, vmid, uuid, secret: () => new Secret('') });
}

export function cloned(
  source: ReadonlyMap<string, string>,
  input: CloneInput,
  vm: VmObserved,
  owner: Owner,
): VmObserved {
  const current = new Map<string, string>();
  for (const [key, text] of source) {
    if (NOT_COPIED.test(key)) continue;
    if (/^net\d+$/.test(key)) current.set(key, printPropertyOf(key, propertyOf(key, text).without('macaddr')));
    else if (isDriveKey(key)) current.set(key, copied(key, text, input, vm.vmid));
    else current.set(key, text);
  }
  current.set('name', input.name);
  current.set('description', notes(input.notes, owner, vm));
  return { ...vm, current };
}

const NOT_COPIED = /^(template|lock|parent|unused\d+)$/;

function copied(key: string, text: string, { mode, storage }: CloneInput, vmid: number): string {
  const { volume, kind, value } = parseDrive(key, text);
  if (volume?.kind !== 'image' || kind === 'cdrom') return text;
  const target = mode === 'full' ? (storage ?? volume.storage) : volume.storage;
  return printPropertyOf(key, value.with('file', volumeName(key, target, vmid, kind)));
}

function volumeName(key: string, storage: string, vmid: number, kind: 'disk' | 'cloud-init'): string {
  return `${storage}:vm-${vmid}-${kind === 'disk' ? `disk-${key}` : 'cloudinit'}`;
}

/** Every VM is created with a line that says it is incomplete. */
function notes(text: string | undefined, { stack, address }: Owner, { vmid }: VmObserved): string {
  return appendOwnership(text ?? '', printOwnership({ stack, address, vmid, nonce: 'unknown', incomplete: true }));
}

export function created(desiredValues: readonly DesiredValue[], vm: VmObserved, owner: Owner): VmObserved {
  const values = Object.entries(creationValues(desiredValues));
  const current = new Map(values.map(([key, value]) => [key, stored(key, value, desiredValues, vm.vmid)]));
  const text = desiredValues.find(({ desired }) => desired.kind === 'notes')?.desired;
  current.set('description', notes(text?.kind === 'notes' ? text.text : undefined, owner, vm));
  return { ...vm, current };
}

export function moved(vm: VmObserved, slot: string, storage: string): VmObserved {
  const text = vm.current.get(slot);
  if (text === undefined) return vm;
  const { value, kind } = parseDrive(slot, text);
  const file = volumeName(slot, storage, vm.vmid, kind === 'cloud-init' ? kind : 'disk');
  return { ...vm, current: new Map([...vm.current, [slot, printPropertyOf(slot, value.with('file', file))]]) };
}

/** With a disk that another VM had. */
export function attached(vm: VmObserved, slot: string, storage: string, sizeBytes: number | undefined): VmObserved {
  const size = sizeBytes === undefined ? '' : `,size=${Math.ceil(sizeBytes / 1024)}K`;
  const text = `${volumeName(slot, storage, vm.vmid, 'disk')}${size}`;
  return { ...vm, current: new Map([...vm.current, [slot, text]]) };
}

/** After a write, with everything in effect: the input of the next write and the resizes. */
export function written(vm: VmObserved, write: ConfigWrite, desiredValues: readonly DesiredValue[]): VmObserved {
  const current = new Map(vm.current);
  for (const [key, value] of Object.entries(write.set)) current.set(key, stored(key, value, desiredValues, vm.vmid));
  for (const key of write.delete) current.delete(key);
  return { ...vm, current };
}

/** A request for a volume becomes the volume; an import has the size of its image, which is not known here. */
function stored(key: string, value: string | Secret, desiredValues: readonly DesiredValue[], vmid: number): string {
  if (typeof value !== 'string') return '';
  if (!isDriveKey(key)) return value;
  const { volume, value: parts } = parseDrive(key, value);
  if (volume?.kind === 'new-cloudinit') {
    return printPropertyOf(key, parts.with('file', volumeName(key, volume.storage, vmid, 'cloud-init')));
  }
  if (volume?.kind !== 'new' || volume.storage === undefined) return value;
  const isImport = parts.get('import-from') !== undefined;
  const desired = desiredValues.find((one) => one.key === key)?.desired;
  const sizeBytes = desired?.kind === 'disk' && !isImport ? desired.sizeBytes : undefined;
  const volumeParts = parts
    .without('import-from', 'format')
    .with('file', volumeName(key, volume.storage, vmid, 'disk'))
    .with('size', sizeBytes === undefined ? undefined : `${Math.ceil(sizeBytes / 1024)}K`);
  return printPropertyOf(key, volumeParts);
}
