/**
 * The files that evidence is added to: a table for people and a log for programs. What stands there is never written
 * again; whoever adds to it holds a small lock for as long as that takes, so that two runs do not both begin the table.
 */
import { type FileHandle, open, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { appendedRow } from '../../engine/evidence/row.ts';
import { unwritable } from '../write-file.ts';

const PRIVATE = 0o600;
const LOOK_MS = 20;
/** Longer than anybody takes to add a line: a lock that is still there was left by a process that died. */
const PATIENCE_MS = 2_000;

export interface EvidenceFiles {
  readonly table: string;
  readonly log: string;
}

/** `evidence.md` and `evidence.jsonl`, whichever of them is named. */
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
      // A device has no text of its own, and may never end.
      const present = stat.isFile() ? await readFile(path, 'utf8') : '';
      await writeWhole(file, textAfter(present), stat.isFile() ? stat.size : undefined);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unwritable(shown, error);
  }
}

/** At once, so that a reader finds whole lines; a part of one, on a disk that became full, is taken away again. */
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

/** Where no lock can be made — a directory that is not ours, with a file in it that is — the line is added without one. */
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
