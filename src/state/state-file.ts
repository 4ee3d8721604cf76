/** The state file: written as a whole with a checksum, validated when read, with backups of previous versions. */
import { z } from 'zod';
import { ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import { parseJson, safeJson } from '../base/text/safe-text.ts';
import { emptyState, STATE_VERSION, type StackState, stackStateSchema } from '../kinds/recorded.ts';
import { checksumOf, inOrder, sealed } from './seal.ts';
import type { StateStore } from './store.ts';

export const STATE_FILE = 'state.json';
/** Of the digests of secrets in the state: without it they cannot be compared. */
export const SALT_FILE = 'salt';
const BACKUPS = 'backups/';
const KEPT_BACKUPS = 20;

/** The tombstone of a state that was moved: it stops a copy of the stack that still uses this store. */
const tombstoneSchema = z.strictObject({
  /** Higher than any that an older Proxwright reads. */
  version: z.literal(STATE_VERSION + 1),
  movedTo: z.string(),
  at: z.string(),
  /** Of the state that was here: only that one may return. Older tombstones lack it. */
  lineage: z.string().optional(),
});

type Tombstone = z.output<typeof tombstoneSchema>;

export function tombstone(place: string, at: string, lineage: string | undefined): string {
  return `${safeJson({ version: STATE_VERSION + 1, movedTo: place, at, lineage }, 2)}\n`;
}

/** What the text says if a state was moved away; undefined if it is a state. */
export function leftBehind(text: string): Tombstone | undefined {
  return tombstoneSchema.safeParse(parseJson(text)).data;
}

/** Where the state was moved to; undefined if the text is a state. */
export function movedTo(text: string): string | undefined {
  return leftBehind(text)?.movedTo;
}

/** Read from the text of a state; undefined if it has none or cannot be parsed. */
export function lineageIn(text: string | undefined): string | undefined {
  return z.looseObject({ lineage: z.string() }).safeParse(parseJson(text ?? '')).data?.lineage;
}

export async function readState(store: StateStore, stack: string): Promise<StackState> {
  const text = await store.read(STATE_FILE);
  if (text === undefined) return emptyState(stack);
  const place = store.placeOf(STATE_FILE);
  const newPlace = movedTo(text);
  if (newPlace !== undefined) throw moved(place, newPlace);
  const state = parseState(text, place);
  if (state.stack !== stack) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file: place },
      detail: `This state belongs to the stack "${state.stack}", not to "${stack}".`,
      hint: 'Use a separate directory for each stack, or correct the name in the file.',
    });
  }
  return state;
}

export function parseState(text: string, file: string): StackState {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw damaged(file, error instanceof Error ? error.message : String(error));
  }
  const version = typeof raw === 'object' && raw !== null && 'version' in raw ? raw.version : undefined;
  if (typeof version === 'number' && version > STATE_VERSION) {
    throw new ProxwrightError({
      code: 'STATE_TOO_NEW',
      where: { file },
      detail: `It has version ${version}; this Proxwright reads up to version ${STATE_VERSION}.`,
      hint: 'Use the Proxwright that wrote it, or a newer one.',
    });
  }
  const { content, isSound } = sealed(raw);
  if (!isSound) throw changed(file);
  const parsed = stackStateSchema.safeParse(content);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw damaged(file, issue ? `${issue.path.join('.')}: ${issue.message}` : 'it has an unknown shape');
}

/** Keeps the old version as a backup, then writes the new one. Writes nothing if nothing changed. */
export async function writeState(store: StateStore, state: StackState): Promise<StackState> {
  const before = await store.read(STATE_FILE);
  if (before === undefined) return replaceState(store, { ...state, serial: state.serial + 1 });
  // A restored state is older than the one it replaces; its serial must not be used a second time.
  const serial = serialOf(before) ?? Math.max(state.serial, await serialAfterBackups(store));
  const unchanged = { ...state, serial };
  if (printState(unchanged) === before) return unchanged;
  await keepBackup(store, serial, before);
  return replaceState(store, { ...state, serial: Math.max(serial, state.serial) + 1 });
}

async function replaceState(store: StateStore, state: StackState): Promise<StackState> {
  await store.write(STATE_FILE, printState(state));
  return state;
}

function serialOf(text: string): number | undefined {
  try {
    return parseState(text, STATE_FILE).serial;
  } catch {
    return undefined;
  }
}

/** For a state that cannot be read: it was written after the last backup. */
async function serialAfterBackups(store: StateStore): Promise<number> {
  const [, digits] = /state-(\d+)\.json$/.exec((await listBackups(store)).at(-1) ?? '') ?? [];
  return digits === undefined ? 0 : Number(digits) + 1;
}

/** The same text for the same state: keys are in a fixed order. */
export function printState({ version, stack, lineage, serial, vms, files, outages = {} }: StackState): string {
  // Most stacks have no files and no outage, so an empty list is left out.
  const others = {
    ...(Object.keys(files).length > 0 && { files: inOrder(files) }),
    ...(Object.keys(outages).length > 0 && { outages: inOrder(outages) }),
  };
  const content = { version, stack, ...(lineage !== undefined && { lineage }), serial, vms: inOrder(vms), ...others };
  return `${safeJson({ ...content, checksum: checksumOf(content) }, 2)}\n`;
}

/** For a store that replaces the state in the middle of a run: keeps it as it was before. */
export async function backUpState(store: StateStore, text: string): Promise<void> {
  const serial = serialOf(text);
  if (serial !== undefined) await keepBackup(store, serial, text);
}

async function keepBackup(store: StateStore, serial: number, text: string): Promise<void> {
  await store.write(backupName(serial), text);
  const backups = await store.list(BACKUPS);
  for (const old of backups.slice(0, Math.max(0, backups.length - KEPT_BACKUPS))) await store.remove(old);
}

/** Padded, so that names sort by age. */
function backupName(serial: number): string {
  return `${BACKUPS}state-${String(serial).padStart(8, '0')}.json`;
}

export async function listBackups(store: StateStore): Promise<string[]> {
  return store.list(BACKUPS);
}

function moved(file: string, place: string): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_MOVED',
    where: { file },
    detail: `The state of this stack was moved to ${place}. What is here is no longer used.`,
    hint: 'Name that store under "state" in the stack file, or in PROXWRIGHT_STATE.',
  });
}

function changed(file: string): ProxwrightError {
  const { detail, hint } = damaged(file, 'its checksum does not match its content').diagnostic;
  return new ProxwrightError({
    code: 'STATE_DAMAGED',
    where: { file },
    detail: `${detail} The file was damaged on disk, or changed by something other than Proxwright.`,
    hint: advice`${hint ?? ''} If you changed it on purpose, delete its "checksum".`,
  });
}

function damaged(file: string, problem: string): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_DAMAGED',
    where: { file },
    detail: `The state cannot be understood: ${problem}.`,
    hint: advice`Restore an earlier version: ${command('state restore')}. Or rebuild it from the cluster: ${command('state recover')}.`,
  });
}
