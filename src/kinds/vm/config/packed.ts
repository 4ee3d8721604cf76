/**
 * Desired values as a step holds them: plain JSON. A secret's value is left out (the context has it), a sub-key to be
 * removed becomes null, and of the ownership line only its kind is kept, because the id and uuid of a new VM are known
 * only after it has been created.
 */
import type { Secret } from '../../../base/secret.ts';
import { ipsIn, printOwnership, recipeIn, saysIncomplete } from '../ownership.ts';
import type { DesiredEntry, DesiredKey, DesiredValue, SubKeys } from './desired.ts';

type PackedSubKeys = Readonly<Record<string, string | null>>;

/** The ownership line: none, one, or one that says that the VM is incomplete or about to be deleted. */
export type DesiredOwnership = 'none' | 'complete' | 'incomplete' | 'leaving';

type Plain<Kind extends DesiredKey['kind']> = Extract<DesiredKey, { readonly kind: Kind }>;

export type PackedKey =
  | Plain<'value'>
  | Plain<'cloud-init-drive'>
  | Plain<'absent'>
  | { readonly kind: 'secret'; readonly digest: string }
  | HiddenKey
  | { readonly kind: 'property'; readonly set: PackedSubKeys; readonly base: string | null }
  | {
      readonly kind: 'notes';
      readonly text: string | null;
      readonly ownership: DesiredOwnership;
      /** Of a template. */
      readonly recipe?: string;
      /** Addresses in custom cloud-init files. */
      readonly ips?: string;
    }
  | { readonly kind: 'cdrom'; readonly set: PackedSubKeys; readonly file: string; readonly seed?: true }
  | {
      readonly kind: 'disk';
      readonly set: PackedSubKeys;
      readonly sizeBytes: number | null;
      readonly storage: string | null;
      readonly format: string | null;
      readonly create: string | null;
    };

/**
 * A key that a sensitive variable decides. The step of a plan in memory knows its value; on disk there is only a
 * digest, so a plan from a file is recomputed and compared before it is executed.
 */
export class HiddenKey {
  readonly kind = 'hidden';
  readonly digest: string;
  readonly #packed: Exclude<PackedKey, HiddenKey>;

  constructor(digest: string, packed: Exclude<PackedKey, HiddenKey>) {
    this.digest = digest;
    this.#packed = packed;
  }

  reveal(): Exclude<PackedKey, HiddenKey> {
    return this.#packed;
  }

  toJSON(): object {
    return { kind: this.kind, digest: this.digest };
  }
}

export interface PackedEntry {
  readonly key: string;
  readonly desired: PackedKey;
}

/** What a plan cannot hold and the action fills in. */
export interface Unpacking {
  readonly stack: string;
  /** Of the state; the line of a template has none, because stacks share templates. */
  readonly lineage?: string | undefined;
  readonly address: string;
  readonly vmid: number;
  readonly uuid: string | undefined;
  /** Identifies the request that created it. */
  readonly nonce?: string | undefined;
  /** The volume with custom cloud-init files, once it exists. */
  readonly seedVolume?: string | undefined;
  secret(key: string): Secret | undefined;
}

export function packDesired(entries: Iterable<DesiredValue | DesiredEntry>): PackedEntry[] {
  return [...entries].map((entry) => {
    const packed = packKey(entry.desired);
    const hidden = 'fields' in entry ? entry.fields.filter((field) => field.hidden) : [];
    const digest = hidden.map(({ value }) => String(value)).join(' ');
    return { key: entry.key, desired: hidden.length > 0 ? new HiddenKey(digest, packed) : packed };
  });
}

function packKey(desired: DesiredKey): Exclude<PackedKey, HiddenKey> {
  switch (desired.kind) {
    case 'secret':
      return { kind: 'secret', digest: desired.digest };
    case 'property':
      return { kind: 'property', set: packSet(desired.set), base: desired.base ?? null };
    case 'notes':
      return {
        kind: 'notes',
        text: desired.text ?? null,
        ownership: desiredOwnership(desired.line),
        ...desiredParts(desired.line),
      };
    case 'cdrom':
      return { kind: 'cdrom', set: packSet(desired.set), file: desired.file, ...(desired.seed && { seed: true }) };
    case 'disk':
      return {
        kind: 'disk',
        set: packSet(desired.set),
        sizeBytes: desired.sizeBytes ?? null,
        storage: desired.storage ?? null,
        format: desired.format ?? null,
        create: desired.create ?? null,
      };
    default:
      return desired;
  }
}

/** Everything but the drive with custom cloud-init files, which are written when the NICs exist. */
export function withoutSeed(entries: readonly PackedEntry[]): PackedEntry[] {
  return entries.filter(({ desired }) => !(desired.kind === 'cdrom' && desired.seed));
}

/** Leaves out a secret whose value is unknown: it cannot be written, and its presence alone proves nothing. */
export function unpackDesired(entries: readonly PackedEntry[], unpacking: Unpacking): DesiredValue[] {
  return entries.flatMap(({ key, desired }) => {
    const unpacked = unpackKey(key, desired, unpacking);
    return unpacked ? [{ key, desired: unpacked }] : [];
  });
}

function unpackKey(key: string, packed: PackedKey, unpacking: Unpacking): DesiredKey | undefined {
  switch (packed.kind) {
    case 'hidden':
      return unpackKey(key, packed.reveal(), unpacking);
    case 'secret': {
      const value = unpacking.secret(key);
      return value && { kind: 'secret', value, digest: packed.digest };
    }
    case 'property':
      return { kind: 'property', set: unpackSet(packed.set), ...(packed.base !== null && { base: packed.base }) };
    case 'notes': {
      const line = lineOf(packed, unpacking);
      return { kind: 'notes', text: packed.text ?? undefined, line };
    }
    case 'cdrom':
      return {
        kind: 'cdrom',
        set: unpackSet(packed.set),
        file: (packed.seed && unpacking.seedVolume) || packed.file,
        ...(packed.seed && { seed: true }),
      };
    case 'disk':
      return {
        kind: 'disk',
        set: unpackSet(packed.set),
        sizeBytes: packed.sizeBytes ?? undefined,
        storage: packed.storage ?? undefined,
        format: packed.format ?? undefined,
        create: packed.create ?? undefined,
      };
    default:
      return packed;
  }
}

function desiredOwnership(line: string | undefined): DesiredOwnership {
  if (line === undefined) return 'none';
  return saysIncomplete(line) ? 'incomplete' : 'complete';
}

function desiredParts(line = ''): { recipe?: string; ips?: string } {
  const [recipe, ips] = [recipeIn(line), ipsIn(line)];
  return { ...(recipe !== undefined && { recipe }), ...(ips !== undefined && { ips }) };
}

function lineOf(
  { ownership, recipe, ips }: Extract<PackedKey, { readonly kind: 'notes' }>,
  { stack, lineage, address, vmid, uuid, nonce }: Unpacking,
): string | undefined {
  if (ownership === 'none') return undefined;
  const line = { stack, address, vmid, uuid, ips, ...(recipe === undefined ? { lineage } : { recipe }) };
  if (ownership === 'leaving') return printOwnership({ ...line, leaving: true });
  return printOwnership(ownership === 'incomplete' ? { ...line, nonce, incomplete: true } : line);
}

function packSet(set: SubKeys): PackedSubKeys {
  return Object.fromEntries(Object.entries(set).map(([part, text]) => [part, text ?? null]));
}

function unpackSet(set: PackedSubKeys): SubKeys {
  return Object.fromEntries(Object.entries(set).map(([part, text]) => [part, text ?? undefined]));
}
