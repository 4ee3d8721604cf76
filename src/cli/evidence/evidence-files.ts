/**
 * The files that evidence is appended to: a table for people and a log for programs. Existing lines are never rewritten.
 * A lock is held while a line is appended, so that two runs do not both start the table.
 */
import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { appendedRow } from '../../engine/evidence/row.ts';
import { unwritable } from '../write-file.ts';

const PRIVATE = 0o600;
const LOOK_MS = 20;
/** Appending a line takes far less time: a lock older than this was left by a dead process. */
const PATIENCE_MS = 2_000;

export interface EvidenceFiles {
  readonly table: string;
  readonly log: string;
}

/** `evidence.md` and `evidence.jsonl`, from the name of either. */
export function evidenceFiles(file: string): EvidenceFiles {
  const stem = file.replace(/\.(md|jsonl)$/, '');
  return stem === file ? { table: file, log: `${file}.jsonl` } : { table: `${stem}.md`, log: `${stem}.jsonl` };
}

/** `shown` are the names in messages. */
export async function addEvidence(
  paths: EvidenceFiles,
  shown: EvidenceFiles,
  { row, line }: { readonly row: string; readonly line: string },
  clock: Clock,
): Promise<void> {
  await whileLocked(paths.table, clock, async () => {
    await add(paths.table, shown.table, (present) => appendedRow(present, row));
    await add(paths.log, shown.log, (present) => `${present === '' || present.endsWith('\n') ? '' : '\n'}${line}\n`);
  });
}

async function add(path: string, shown: string, textAfter: (present: string) => string): Promise<void> {
  try {
    const file = await open(path, 'a', PRIVATE);
    try {
      const stat = await file.stat();
      // A device such as /dev/stdout cannot be read back.
      const present = stat.isFile() ? await readFile(path, 'utf8') : '';
      await writeWhole(file, textAfter(present), stat.isFile() ? stat.size : undefined);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unwritable(shown, error);
  }
}

/** In one write, so that a reader sees whole lines. If the disk is full, a partial line is removed again. */
async function writeWhole(file: FileHandle, text: string, sizeBefore: number | undefined): Promise<void> {
  const bytes = Buffer.from(text);
  try {
    const { bytesWritten } = await file.write(bytes);
    if (bytesWritten < bytes.length) throw new Error(`only ${bytesWritten} of ${bytes.length} bytes could be written`);
    if (sizeBefore !== undefined) await file.datasync();
  } catch (error) {
    if (sizeBefore !== undefined) await file.truncate(sizeBefore).catch(() => {});
    throw error;
  }
}

async function whileLocked(path: string, clock: Clock, work: () => Promise<void>): Promise<void> {
  const lock = join(dirname(path), `.${basename(path)}.lock`);
  const handle = await takeLock(lock, clock);
  try {
    await work();
  } finally {
    await handle?.close();
    if (handle) await rm(lock, { force: true });
  }
}

/** If the lock cannot be created, as in a directory that is not writable, the line is appended without one. */
async function takeLock(lock: string, clock: Clock): Promise<FileHandle | undefined> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += LOOK_MS) {
    try {
      return await open(lock, 'wx', PRIVATE);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return undefined;
    }
    await clock.sleep(LOOK_MS);
  }
  await rm(lock, { force: true });
  return open(lock, 'wx', PRIVATE).catch(() => undefined);
}

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? error.code : undefined);
