/**
 * The desired value of one configuration key. Of a property string only the sub-keys that the stack sets are ours; the rest
 * of the actual string is kept. That is how a template's values survive.
 */

import type { Secret } from '../../../base/secret.ts';
import type { WordKind } from '../../fields/words.ts';

/** Sub-keys of a property string; undefined removes one. */
export type SubKeys = Readonly<Record<string, string | undefined>>;

export interface DesiredDisk {
  readonly kind: 'disk';
  /** Options of the drive, never its volume. */
  readonly set: SubKeys;
  /** At least this large. */
  readonly sizeBytes: number | undefined;
  readonly storage: string | undefined;
  readonly format: string | undefined;
  /** How the volume is created if the slot is empty: `local-lvm:32`, `local:0,import-from=…`. */
  readonly create: string | undefined;
}

export interface DesiredCdrom {
  readonly kind: 'cdrom';
  readonly set: SubKeys;
  /** An ISO, or `none` for an empty drive. */
  readonly file: string;
  /** It holds custom cloud-init files; the name of the volume is certain once the VM exists. */
  readonly seed?: true | undefined;
}

export type DesiredKey =
  /** The whole value. */
  | { readonly kind: 'value'; readonly text: string }
  /** A value that reads back as a mask; the state records its digest. */
  | { readonly kind: 'secret'; readonly value: Secret; readonly digest: string }
  /** These sub-keys; `base` is what a new device starts from. */
  | { readonly kind: 'property'; readonly set: SubKeys; readonly base?: string }
  /** The notes: the user's text (undefined keeps the existing text) and the ownership line below it. */
  | { readonly kind: 'notes'; readonly text: string | undefined; readonly line: string | undefined }
  | DesiredDisk
  | DesiredCdrom
  /** A cloud-init drive in any slot; made in the slot of its key where there is none. */
  | { readonly kind: 'cloud-init-drive'; readonly storage: string }
  /** Removed; a disk with its volume. */
  | { readonly kind: 'absent' };

/** One field of the stack behind a desired key. */
export interface DesiredField {
  /** `nics.net0.vlan`. */
  readonly path: string;
  /** As the file would write it: `8GiB`, `true`, a list; null for "absent"; the digest for a secret. */
  readonly value: unknown;
  readonly words: WordKind;
  /** The sub-keys it sets, the one that shows its value first; empty if it is the whole value. */
  readonly parts: readonly string[];
  /** A sensitive variable decides it: `value` is its digest, and nothing shows the value itself. */
  readonly hidden?: true;
  /** It is part of a custom cloud-init file: only the recorded value shows whether it changed. */
  readonly inCloudInitFile?: true;
  /**
   * Taken over from the VM that this one replaces: written and shown like other fields, but not managed by the file.
   */
  readonly takenOver?: true;
}

/** A key with its desired value: enough to compare and to write. */
export interface DesiredValue {
  readonly key: string;
  readonly desired: DesiredKey;
}

export interface DesiredEntry extends DesiredValue {
  readonly fields: readonly DesiredField[];
}

/** By Proxmox key. */
export type DesiredConfig = ReadonlyMap<string, DesiredEntry>;

/** What the state records after an apply: field path → value; secrets as digests. */
export function appliedValues(desired: DesiredConfig): Record<string, unknown> {
  const fields = [...desired.values()].flatMap((entry) => entry.fields.filter(({ takenOver }) => !takenOver));
  return Object.fromEntries(fields.map(({ path, value }) => [path, value]));
}
