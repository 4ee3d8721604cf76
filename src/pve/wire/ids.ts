/** The names of things, branded so that one cannot be passed for another. Patterns: pve-common, src/PVE/JSONSchema.pm. */
import { invariant } from '../../base/assert.ts';

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

/** A VM id from a number or from digits in an answer or a user's file; `undefined` when it is none. */
export function parseVmid(value: unknown): Vmid | undefined {
  if (typeof value === 'string') return /^[1-9][0-9]{2,8}$/.test(value) ? parseVmid(Number(value)) : undefined;
  return typeof value === 'number' && isVmid(value) ? value : undefined;
}

/** For values already checked elsewhere; a wrong one is our bug. */
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
