/**
 * Events of a run that its store did not receive, because the store stopped answering, refused the run, or gave its lock to another. The lines of the journal are kept in the local directory, one file per run. The next run of this machine sends them right after it took the lock, before it does anything else. A run of another machine does not have them; it looks in the cluster, as after any crash, and ends that journal: from then on the lines no longer count.
 *
 *     outbox/RUN.jsonl       which state they belong to and after which line they come, then the lines
 *     set-aside/RUN.jsonl    the same, if they belong to another state or to a later one than the store has
 */
import { z } from 'zod';
import { ProxwrightError } from '../../base/errors.ts';
import { parseJson } from '../../base/text/safe-text.ts';
import { isUnfinished, nameOfJournal, runOfJournal } from '../journal.ts';
import { lineageIn, STATE_FILE } from '../state-file.ts';
import type { Delivery, StoreLock, Unsent } from '../store.ts';
import { isStoreFailure, type LockHolder, type LockOwner, type Outbox, type StateStore } from '../store.ts';

const FOLDER = 'outbox/';
const ASIDE = 'set-aside/';

const headerSchema = z.object({
  format: z.literal(1),
  /** Of the state; absent before its first write. */
  lineage: z.string().optional(),
  /** Of the lock under which the lines were written. */
  epoch: z.number().optional(),
  /** The last line of this run that the store acknowledged. */
  after: z.string().optional(),
});
type Header = z.output<typeof headerSchema>;

interface Kept extends Unsent {
  readonly header: Header;
  readonly lines: readonly string[];
}

/** What happens to kept lines. */
type Fate =
  | { readonly end: 'sent'; readonly missing: readonly string[] }
  /** Another run has ended the journal: it found out by looking. */
  | { readonly end: 'superseded' }
  | { readonly end: 'set aside'; readonly why: string };

/** A shared store with its outbox in a local one. */
export class OutboxStore implements StateStore {
  readonly outbox: Outbox = {
    keep: (name, line) => this.#keep(name, line),
    unsent: () => this.#unsent(),
  };
  readonly #store: StateStore;
  readonly #local: StateStore;
  /** Of each log that this process writes: the last line that was acknowledged. */
  readonly #acknowledged = new Map<string, string>();
  readonly #begun = new Set<string>();
  #lock: StoreLock | undefined;
  #lineage: string | undefined;

  constructor(store: StateStore, local: StateStore) {
    this.#store = store;
    this.#local = local;
  }

  /** Includes what waits to be sent, so that a read-only command has it, too. */
  async read(name: string): Promise<string | undefined> {
    const text = await this.#store.read(name).catch((error: unknown) => {
      throw this.#begun.size > 0 ? this.#keptAside(error) : error;
    });
    if (name === STATE_FILE) this.#lineage = lineageIn(text);
    const kept = runOfJournal(name) === undefined ? undefined : await this.#kept(name);
    if (!kept) return text;
    const fate = fateOf(kept, { name, text, lineage: await this.#storedLineage() });
    return fate.end === 'sent' ? `${text ?? ''}${fate.missing.map((line) => `${line}\n`).join('')}` : text;
  }

  async write(name: string, text: string): Promise<void> {
    try {
      await this.#store.write(name, text);
    } catch (error) {
      throw this.#begun.size > 0 ? this.#keptAside(error) : error;
    }
    if (name === STATE_FILE) this.#lineage = lineageIn(text);
  }

  async append(name: string, line: string): Promise<void> {
    try {
      await this.#store.append(name, line);
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      await this.#keep(name, line);
      throw this.#keptAside(error);
    }
    this.#acknowledged.set(name, line);
  }

  remove(name: string): Promise<void> {
    return this.#store.remove(name);
  }

  placeOf(name: string): string {
    return this.#store.placeOf(name);
  }

  async list(prefix = ''): Promise<string[]> {
    const names = await this.#store.list(prefix);
    const kept = (await this.#unsent()).map(({ runId }) => nameOfJournal(runId));
    const unknown = kept.filter((name) => name.startsWith(prefix) && !names.includes(name));
    const readable = await Promise.all(
      unknown.map(async (name) => ((await this.read(name)) === undefined ? [] : [name])),
    );
    return [...names, ...readable.flat()].sort();
  }

  async lock(owner: LockOwner): Promise<StoreLock> {
    const lock = await this.#store.lock(owner);
    this.#acknowledged.clear();
    this.#begun.clear();
    this.#lock = lock;
    try {
      const delivered = await this.#deliver(lock);
      return delivered.length === 0 ? lock : { ...lock, delivered };
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  holder(): Promise<LockHolder | undefined> {
    return this.#store.holder();
  }

  unlock(options?: { readonly evenOf?: LockOwner | undefined }): Promise<LockOwner | undefined> {
    return this.#store.unlock(options);
  }

  async close(): Promise<void> {
    await this.#store.close?.();
  }

  /**
   * Each file is removed when its lines are in the store; after an interrupted delivery, the next one finds the lines
   * that were sent.
   */
  async #deliver(lock: StoreLock): Promise<Delivery[]> {
    const deliveries: Delivery[] = [];
    for (const { runId } of await this.#unsent()) {
      const name = nameOfJournal(runId);
      const kept = await this.#kept(name);
      if (!kept) continue;
      const lineage = await this.#storedLineage();
      const fate = fateOf(kept, { name, text: await this.#store.read(name), lineage, epoch: lock.epoch });
      if (fate.end === 'sent') for (const line of fate.missing) await this.#store.append(name, line);
      const aside = `${ASIDE}${runId}.jsonl`;
      if (fate.end === 'set aside') await this.#local.write(aside, (await this.#local.read(fileOf(name))) ?? '');
      await this.#local.remove(fileOf(name));
      const { events } = kept;
      deliveries.push({
        runId,
        events,
        end: fate.end,
        ...(fate.end === 'set aside' && { why: fate.why, place: this.#local.placeOf(aside) }),
      });
    }
    return deliveries;
  }

  /** A full disk must not hide the first error. */
  async #keep(name: string, line: string): Promise<void> {
    try {
      if (!this.#begun.has(name)) {
        const header: Header = {
          format: 1,
          lineage: this.#lineage,
          epoch: this.#lock?.epoch,
          after: this.#acknowledged.get(name),
        };
        await this.#local.append(fileOf(name), JSON.stringify(header));
        this.#begun.add(name);
      }
      await this.#local.append(fileOf(name), line);
    } catch {}
  }

  #keptAside(error: unknown): unknown {
    const [name] = this.#begun;
    if (!(error instanceof ProxwrightError) || name === undefined) return error;
    const place = this.#local.placeOf(fileOf(name));
    return error.with({
      addedDetail: `What this run could not save is kept in ${place}; the next run on this machine sends it first.`,
    });
  }

  async #unsent(): Promise<Unsent[]> {
    const names = await this.#local.list(FOLDER);
    const kept = await Promise.all(names.map((name) => this.#kept(nameOfJournal(runOf(name)))));
    return kept.flatMap((each) => (each ? [{ runId: each.runId, events: each.events, place: each.place }] : []));
  }

  async #kept(name: string): Promise<Kept | undefined> {
    const file = fileOf(name);
    const text = await this.#local.read(file);
    if (text === undefined) return undefined;
    // A process that was killed while it wrote a line leaves a part of it.
    const [first = '', ...lines] = text
      .slice(0, text.lastIndexOf('\n') + 1)
      .split('\n')
      .slice(0, -1);
    const header = headerSchema.safeParse(parseJson(first)).data;
    const place = this.#local.placeOf(file);
    if (!header) return first === '' ? undefined : damaged(place);
    return { runId: runOf(file), events: lines.length, place, header, lines };
  }

  async #storedLineage(): Promise<string | undefined> {
    return lineageIn(await this.#store.read(STATE_FILE));
  }
}

interface Stored {
  readonly name: string;
  /** The journal as the store has it. */
  readonly text: string | undefined;
  /** Of the state in the store. */
  readonly lineage: string | undefined;
  /** Of the lock that is held now; undefined for readers. */
  readonly epoch?: number | undefined;
}

function fateOf({ header, lines }: Kept, { name, text = '', lineage, epoch }: Stored): Fate {
  if (lineage !== header.lineage) return { end: 'set aside', why: 'the store has another state now' };
  if (epoch !== undefined && header.epoch !== undefined && epoch <= header.epoch)
    return { end: 'set aside', why: 'the store is older than they are' };
  if (text !== '' && !isUnfinished(name, text)) return { end: 'superseded' };
  const stored = text.split('\n').slice(0, -1);
  const known = header.after === undefined ? -1 : stored.lastIndexOf(header.after);
  if (header.after !== undefined && known < 0) return { end: 'set aside', why: 'the store is older than they are' };
  // Some may have arrived although the answer was lost, or by a delivery that died.
  const arrived = header.after === undefined ? overlap(stored, lines) : stored.length - known - 1;
  if (stored.slice(stored.length - arrived).some((line, index) => line !== lines[index]))
    return { end: 'set aside', why: 'another run wrote to the same journal' };
  return { end: 'sent', missing: lines.slice(arrived) };
}

/** How many of the first `lines` are the last of `stored`. */
function overlap(stored: readonly string[], lines: readonly string[]): number {
  for (let count = Math.min(stored.length, lines.length); count > 0; count--) {
    if (stored.slice(-count).every((line, index) => line === lines[index])) return count;
  }
  return 0;
}

function fileOf(journal: string): string {
  return `${FOLDER}${runOfJournal(journal)}.jsonl`;
}

function runOf(file: string): string {
  return file.slice(FOLDER.length, -'.jsonl'.length);
}

function damaged(place: string): never {
  throw new ProxwrightError({
    code: 'STATE_DAMAGED',
    where: { file: place },
    detail: 'An earlier run of this machine kept here what its store did not receive, and the file cannot be read.',
    hint: 'Move the file away and run the command again: it looks in the cluster for what the earlier run did.',
  });
}
