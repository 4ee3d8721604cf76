/**
 * The ownership line in a VM's notes: which stack the VM belongs to, for people and for `state recover`. Clones and
 * restores copy it, so it counts only if its id and uuid are those of the VM that has it.
 */
import { parseVmid } from '../../pve/wire/index.ts';
import { OWNERSHIP_PREFIX, sameVm, type VmIdentity } from './identity.ts';

export interface Ownership {
  readonly stack: string;
  readonly address: string;
  readonly vmid: number;
  /** Unknown until the VM has been created and read. */
  readonly uuid?: string | undefined;
  /**
   * Of the state that created the VM, in its short form. Absent in lines of version 0.1.0, of templates and of the
   * provider.
   */
  readonly lineage?: string | undefined;
  /**
   * Static addresses that Proxmox cannot show, because they are in the VM's custom cloud-init files: `net0/10.0.0.5`, with
   * commas between them, or `none`. Absent where they are not known, and in lines of version 0.1.0.
   */
  readonly ips?: string | undefined;
  /** Of a template: fingerprint of what it was built from. */
  readonly recipe?: string | undefined;
  /** Created, but not yet configured as desired. */
  readonly incomplete?: boolean | undefined;
  /** About to be deleted by the provider, which has no journal. */
  readonly leaving?: boolean | undefined;
  /** Identifies the request that created the VM, so that a clone whose answer was lost can be matched. */
  readonly nonce?: string | undefined;
}

const INCOMPLETE = 'incomplete';
const LEAVING = 'leaving';

export function printOwnership(ownership: Ownership): string {
  const parts: readonly (readonly [string, string | undefined])[] = [
    ['stack', ownership.stack],
    ['address', ownership.address],
    ['vmid', String(ownership.vmid)],
    ['uuid', ownership.uuid],
    ['lineage', ownership.lineage && shortLineage(ownership.lineage)],
    ['ips', ownership.ips],
    ['recipe', ownership.recipe],
    ['nonce', ownership.nonce],
    ['state', ownership.incomplete ? INCOMPLETE : ownership.leaving ? LEAVING : undefined],
  ];
  const written = parts.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${escaped(value)}`]));
  return `${OWNERSHIP_PREFIX}${written.join(' ')}`;
}

/** Undefined if the line is not an ownership line. */
export function parseOwnership(line: string): Ownership | undefined {
  if (!line.startsWith(OWNERSHIP_PREFIX)) return undefined;
  const parts = new Map(
    line
      .slice(OWNERSHIP_PREFIX.length)
      .trim()
      .split(/ +/)
      .map((part) => {
        const equals = part.indexOf('=');
        return [part.slice(0, Math.max(equals, 0)), unescaped(part.slice(equals + 1))] as const;
      }),
  );
  const [stack, address, vmid] = [parts.get('stack'), parts.get('address'), parseVmid(parts.get('vmid'))];
  if (!stack || !address || vmid === undefined) return undefined;
  const [uuid, nonce, recipe] = [parts.get('uuid'), parts.get('nonce'), parts.get('recipe')];
  const [lineage, ips] = [parts.get('lineage'), parts.get('ips')];
  return {
    stack,
    address,
    vmid,
    ...(uuid && { uuid }),
    ...(lineage && { lineage }),
    ...(ips && { ips }),
    ...(nonce && { nonce }),
    ...(recipe && { recipe }),
    ...(parts.get('state') === INCOMPLETE && { incomplete: true }),
    ...(parts.get('state') === LEAVING && { leaving: true }),
  };
}

/** The first two groups of the uuid: 48 bits tell the copies of one stack apart. */
export function shortLineage(lineage: string): string {
  return lineage.slice(0, 13);
}

/** Whether another state than this one wrote the line. A line without a lineage may belong to any state. */
export function isForeign({ lineage }: Ownership, own: string | undefined): boolean {
  return lineage !== undefined && lineage !== shortLineage(own ?? '');
}

/** The line as it is recorded and compared: one that an older version wrote counts as the same. */
export function withoutLineage(line: string): string {
  return line.replace(/ lineage=\S+/, '');
}

/** A line without addresses was written by an older version, and gets them with the next write. */
export function withoutIps(line: string): string {
  return line.replace(/ ips=\S+/, '');
}

/** Also for the line of a VM that has no id yet. */
export function ipsIn(line: string): string | undefined {
  return / ips=(\S+)/.exec(line)?.[1];
}

/** Also for the line of a VM that has no id yet. */
export function saysIncomplete(line: string): boolean {
  return line.endsWith(` state=${INCOMPLETE}`);
}

/** Also for the line of a template that has no id yet. */
export function recipeIn(line: string): string | undefined {
  return / recipe=([0-9a-f]+)( |$)/.exec(line)?.[1];
}

/** A VM that was to be deleted and still exists is a VM like others. */
export function withoutLeaving(line: string): string {
  return line.replace(new RegExp(` state=${LEAVING}$`), '');
}

/** All ownership lines of the notes, also those that do not count. */
export function ownershipLines(notes: string): string[] {
  return linesOf(notes).flatMap((line) => (parseOwnership(line) === undefined ? [] : [line.trimEnd()]));
}

export function findOwnership(notes: string): Ownership | undefined {
  return parseOwnership(ownershipLines(notes).at(-1) ?? '');
}

/** Whether the line is about this VM, not about one it was copied from. */
export function ownershipCounts(ownership: Ownership, vm: VmIdentity): boolean {
  return sameVm(ownership, vm);
}

/** Undefined if no stack owns the VM, or its line was copied from another VM. */
export function ownerOf(vm: VmIdentity & { readonly current: ReadonlyMap<string, string> }): Ownership | undefined {
  const owner = findOwnership(vm.current.get('description') ?? '');
  return owner && ownershipCounts(owner, vm) ? owner : undefined;
}

/** The user's part of the notes. */
export function stripOwnership(notes: string): string {
  const lines = linesOf(notes);
  const kept = lines.filter((line) => parseOwnership(line) === undefined);
  // Remove only the blank line that we added: notes without an ownership line stay as they are.
  return kept.length === lines.length ? notes : kept.join('\n').trimEnd();
}

export function appendOwnership(notes: string, line: string | undefined): string {
  if (line === undefined) return notes;
  return notes.trim() === '' ? line : `${notes.trimEnd()}\n\n${line}`;
}

/** Proxmox keeps a carriage return, so a line keeps it too. */
function linesOf(notes: string): string[] {
  return notes.split('\n');
}

/** Escapes blanks and other characters that would end a part; letters of all languages stay readable. */
function escaped(value: string): string {
  return value.replace(/[\s%=\p{C}]/gu, (character) => encodeURIComponent(character));
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
