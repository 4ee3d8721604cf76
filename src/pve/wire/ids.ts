/**
 * Identifiers: VM ids, nodes, storages, and the UPIDs of tasks. They are branded, so the compiler rejects one in place of
 * another. Patterns: pve-common, src/PVE/JSONSchema.pm; UPIDs: encode and decode of src/PVE/UPID.pm.
 */
import { invariant } from '../../base/errors.ts';
import { percentEncode } from './encoding.ts';

declare const brand: unique symbol;
export type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };

export type Vmid = Brand<number, 'Vmid'>;
export type NodeName = Brand<string, 'NodeName'>;
export type StorageId = Brand<string, 'StorageId'>;

export const VMID_MIN = 100;
export const VMID_MAX = 999_999_999;

export function isVmid(value: number): value is Vmid {
  return Number.isInteger(value) && value >= VMID_MIN && value <= VMID_MAX;
}

export function isNodeName(text: string): text is NodeName {
  return /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/.test(text);
}

/** At least two characters; a letter first, a letter or digit last. */
export function isStorageId(text: string): text is StorageId {
  return /^[a-z][a-z0-9\-_.]*[a-z0-9]$/i.test(text);
}

/** Reads a number, or digits in a response or in a stack file; `undefined` if it is not a VM id. */
export function parseVmid(value: unknown): Vmid | undefined {
  if (typeof value === 'string') return /^[1-9][0-9]{2,8}$/.test(value) ? parseVmid(Number(value)) : undefined;
  return typeof value === 'number' && isVmid(value) ? value : undefined;
}

/** For values that were already checked; an invalid one is a bug. */
export function toVmid(value: unknown): Vmid {
  const vmid = parseVmid(value);
  invariant(vmid !== undefined, `${JSON.stringify(value)} is not a VM id.`);
  return vmid;
}

export function toNodeName(text: string): NodeName {
  invariant(isNodeName(text), `${JSON.stringify(text)} is not a node name.`);
  return text;
}

export function toStorageId(text: string): StorageId {
  invariant(isStorageId(text), `${JSON.stringify(text)} is not a storage id.`);
  return text;
}

/** `UPID:<node>:<pid>:<pstart>:<starttime>:<type>:<id>:<user>:`, numbers in hexadecimal. */
export type Upid = Brand<string, 'Upid'>;

export interface UpidParts {
  readonly node: NodeName;
  readonly pid: number;
  /** Start of the process in clock ticks since boot; nine digits after about 497 days of uptime. */
  readonly processStartTicks: number;
  readonly startTimeSeconds: number;
  readonly type: string;
  /** The VM id for VM tasks; for `qmclone` the id of the SOURCE. May be empty. */
  readonly id: string;
  /** User or token id, such as `root@pam!ci`. */
  readonly user: string;
}

const UPID = /^UPID:([^:\s/]+):([0-9A-F]{8}):([0-9A-F]{8,9}):([0-9A-F]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$/i;

export function parseUpid(text: string): UpidParts | undefined {
  const match = UPID.exec(text);
  if (!match || !text.startsWith('UPID:')) return undefined;
  const [, node = '', pid = '', processStart = '', startTime = '', type = '', id = '', user = ''] = match;
  if (!isNodeName(node)) return undefined;
  return {
    node,
    pid: Number.parseInt(pid, 16),
    processStartTicks: Number.parseInt(processStart, 16),
    startTimeSeconds: Number.parseInt(startTime, 16),
    type,
    id,
    user,
  };
}

export function isUpid(text: unknown): text is Upid {
  return typeof text === 'string' && parseUpid(text) !== undefined;
}

export function printUpid(parts: UpidParts): Upid {
  const numbers = [parts.pid, parts.processStartTicks, parts.startTimeSeconds].map(hexadecimal);
  const text = `UPID:${parts.node}:${numbers.join(':')}:${parts.type}:${parts.id}:${parts.user}:`;
  invariant(isUpid(text), `${text} is not a UPID.`);
  return text;
}

/** A UPID as a component of a path; ids may contain `>` or `%`. */
export function encodeUpid(upid: Upid): string {
  return percentEncode(upid);
}

function hexadecimal(value: number): string {
  return value.toString(16).toUpperCase().padStart(8, '0');
}
