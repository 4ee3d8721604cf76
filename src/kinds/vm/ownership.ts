/**
 * The ownership line in a VM's notes: whose VM it is, readable by people and by `state recover`. A clone and a restore
 * copy it, so it counts only where the id and the uuid in it are those of the VM it stands in.
 */
import { parseVmid } from '../../pve/wire/index.ts';
import { sameVm, type VmIdentity } from './identity.ts';

export interface Ownership {
  readonly stack: string;
  readonly address: string;
  readonly vmid: number;
  /** Unknown until the VM has been made and read. */
  readonly uuid?: string | undefined;
  /** Of a template: fingerprint of what it was made from. */
  readonly recipe?: string | undefined;
  /** Made, but not yet as the stack wants it. */
  readonly incomplete?: boolean | undefined;
  /** Names the attempt that made the VM, so that a clone whose answer was lost can be found again. */
  readonly nonce?: string | undefined;
}

const PREFIX = 'proxwright: ';
const INCOMPLETE = 'incomplete';

export function printOwnership(ownership: Ownership): string {
  const parts: readonly (readonly [string, string | undefined])[] = [
    ['stack', ownership.stack],
    ['address', ownership.address],
    ['vmid', String(ownership.vmid)],
    ['uuid', ownership.uuid],
    ['recipe', ownership.recipe],
    ['nonce', ownership.nonce],
    ['state', ownership.incomplete ? INCOMPLETE : undefined],
  ];
  const written = parts.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${escaped(value)}`]));
  return `${PREFIX}${written.join(' ')}`;
}

/** One line; undefined where it is not an ownership line. */
export function parseOwnership(line: string): Ownership | undefined {
  if (!line.startsWith(PREFIX)) return undefined;
  const parts = new Map(
    line
      .slice(PREFIX.length)
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
  return {
    stack,
    address,
    vmid,
    ...(uuid && { uuid }),
    ...(nonce && { nonce }),
    ...(recipe && { recipe }),
    ...(parts.get('state') === INCOMPLETE && { incomplete: true }),
  };
}

/** Also of a line made for a VM that has no id yet. */
export function saysIncomplete(line: string): boolean {
  return line.endsWith(` state=${INCOMPLETE}`);
}

/** Also of a line made for a template that has no id yet. */
export function recipeIn(line: string): string | undefined {
  return / recipe=([0-9a-f]+)( |$)/.exec(line)?.[1];
}

/** All ownership lines of the notes, whether they count or not. */
export function ownershipLines(notes: string): string[] {
  return linesOf(notes).filter((line) => parseOwnership(line) !== undefined);
}

export function findOwnership(notes: string): Ownership | undefined {
  return parseOwnership(ownershipLines(notes).at(-1) ?? '');
}

/** The line is about this very VM, not about one it was copied from. */
export function ownershipCounts(ownership: Ownership, vm: VmIdentity): boolean {
  return sameVm(ownership, vm);
}

/** The user's part of the notes. */
export function stripOwnership(notes: string): string {
  const lines = linesOf(notes);
  const kept = lines.filter((line) => parseOwnership(line) === undefined);
  // Only the blank line that we put in goes with ours: notes without a line stay as they are.
  return kept.length === lines.length ? notes : kept.join('\n').trimEnd();
}

export function appendOwnership(notes: string, line: string | undefined): string {
  if (line === undefined) return notes;
  return notes.trim() === '' ? line : `${notes.trimEnd()}\n\n${line}`;
}

function linesOf(notes: string): string[] {
  return notes.split(/\r?\n/);
}

/** Blanks and what else would end a part; letters of all languages stay readable. */
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
