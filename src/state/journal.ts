/** The journal of each run: one line per event, on disk before the run acts on it. */

import { type Clock, type Instant, steadyTime } from '../base/clock.ts';
import { hasCode, invariant, ProxwrightError, toDiagnostic } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import type { Logger } from '../base/log.ts';
import { type Random, randomHex } from '../base/random.ts';
import { KnownSecrets } from '../base/secret.ts';
import { safeJson } from '../base/text/safe-text.ts';
import { eventSchema, JOURNAL_FORMAT, type RunEvent } from './events.ts';
import { parseOldEvent, upgradeJournal } from './old-journal.ts';
import { checksumOf, sealed } from './seal.ts';
import type { LockOwner, StateStore, StoreLock } from './store.ts';
import { Transitions } from './transitions.ts';

const FOLDER = 'runs/';

export interface RunJournal {
  readonly runId: string;
  readonly events: readonly RunEvent[];
}

type Unstamped<Event> = Event extends unknown ? Omit<Event, 'at'> : never;
/** An event before the journal adds the time. */
export type NewEvent = Unstamped<RunEvent>;

/** Appends to the journal of a run. */
export class JournalWriter {
  readonly runId: string;
  readonly #store: StateStore;
  readonly #time: () => Instant;
  readonly #secrets: KnownSecrets;
  readonly #events: RunEvent[];
  readonly #transitions = new Transitions();
  /**
   * Lines are written one after the other, in the order of the calls. Once a line could not be written, every later
   * call fails: a line after a partial one would make the journal unreadable. Their events are kept if the store has an
   * outbox, except for the end of the run: the next run has to resume it.
   */
  #tail: Promise<void> = Promise.resolve();

  /** `events`: those that the journal already contains. `secrets` are removed from quoted texts. */
  constructor(
    store: StateStore,
    clock: Clock,
    runId: string,
    events: readonly RunEvent[] = [],
    secrets = new KnownSecrets(),
  ) {
    this.#store = store;
    this.#time = steadyTime(clock);
    this.runId = runId;
    this.#secrets = secrets;
    this.#events = [...events];
    for (const event of events) this.#transitions.accept(event);
  }

  /** The events on disk. */
  get events(): readonly RunEvent[] {
    return this.#events;
  }

  /** The time that the next event gets. */
  now(): Instant {
    return this.#time();
  }

  async write(event: NewEvent): Promise<RunEvent> {
    const stamped = { ...this.#clean(event), at: new Date(this.now()).toISOString() } as RunEvent; // adds the missing field
    const problem = this.#transitions.accept(stamped);
    invariant(problem === undefined, `The run is about to record ${problem}.`);
    const name = nameOfJournal(this.runId);
    this.#tail = this.#tail.then(
      async () => {
        await this.#store.append(name, printEvent(stamped));
        this.#events.push(stamped);
      },
      async (error: unknown) => {
        if (stamped.event !== 'runEnded') await this.#store.outbox?.keep(name, printEvent(stamped));
        throw error;
      },
    );
    await this.#tail;
    return stamped;
  }

  /** Only in texts that quote a server or a guest. Everything else is facts, which the next run reads. */
  #clean(event: NewEvent): NewEvent {
    switch (event.event) {
      case 'stepFailed':
        return { ...event, detail: this.#secrets.redact(event.detail) };
      case 'resourceEnded':
        return event.problem ? { ...event, problem: this.#secrets.redactIn(event.problem) } : event;
      case 'hook':
        return event.output === undefined ? event : { ...event, output: this.#secrets.redact(event.output) };
      case 'note':
        return {
          ...event,
          text: this.#secrets.redact(event.text),
          ...(event.wait && { wait: this.#secrets.redactIn(event.wait) }),
        };
      default:
        return event;
    }
  }
}

function printEvent(event: RunEvent): string {
  return safeJson({ ...event, checksum: checksumOf(event) });
}

export function nameOfJournal(runId: string): string {
  return `${FOLDER}${runId}.jsonl`;
}

/** The run whose journal has this name; undefined if it is none. */
export function runOfJournal(name: string): string | undefined {
  return name.startsWith(FOLDER) && name.endsWith('.jsonl') ? name.slice(FOLDER.length, -'.jsonl'.length) : undefined;
}

/** Earlier runs, oldest first: run ids begin with their time. */
export async function listRuns(store: StateStore): Promise<string[]> {
  const names = await store.list(FOLDER);
  return names.flatMap((name) => runOfJournal(name) ?? []);
}

export async function readRun(store: StateStore, runId: string): Promise<RunJournal> {
  const name = nameOfJournal(runId);
  return parseRun(runId, (await store.read(name)) ?? '', store.placeOf(name));
}

/** `file`: where the text is, for messages. */
export function parseRun(runId: string, text: string, file: string): RunJournal {
  const lines = parseLines(text);
  const isOld = lines[0] !== undefined && !isOfToday(lines[0].value);
  if (isOld) {
    const old = lines.map(({ value, line }) => parseOldEvent(value) ?? damaged(file, line));
    return { runId, events: upgradeJournal(runId, old) };
  }
  const transitions = new Transitions();
  const events = lines.map(({ value, line }): RunEvent => {
    const { data: event } = eventSchema.safeParse(value);
    if (!event) return damaged(file, line);
    const problem = transitions.accept(event);
    return problem === undefined ? event : impossible(file, line, problem);
  });
  return { runId, events };
}

interface Line {
  /** From 1. */
  readonly line: number;
  /** Undefined if it is not JSON, or not what was written. */
  readonly value: unknown;
}

function parseLines(text: string): Line[] {
  const texts = text.split('\n');
  const lines = texts.flatMap((each, index): Line[] =>
    each === '' ? [] : [{ line: index + 1, value: parseEvent(each) }],
  );
  // A run that died while writing leaves a partial last line, which does not count.
  const last = lines.at(-1);
  if (last && last.line === texts.length && last.value === undefined && !isWhole(texts.at(-1))) lines.pop();
  return lines;
}

/** A last line that is complete except for a damaged line break: the run has acted on it, so it must count. */
function isWhole(text = ''): boolean {
  return parseEvent(text.slice(0, -1)) !== undefined;
}

/** Undefined if the line is not JSON, or not what was written. */
function parseEvent(text: string): unknown {
  try {
    const { content, isSound } = sealed(JSON.parse(text));
    return isSound ? content : undefined;
  } catch {
    return undefined;
  }
}

function isOfToday(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'format' in value && value.format === JOURNAL_FORMAT;
}

/** Closes the journal of a run that died. Removes a partial last line, because the next line would be appended to it. */
export async function closeRun(store: StateStore, clock: Clock, runId: string): Promise<void> {
  const name = nameOfJournal(runId);
  await store.write(name, endedJournal((await store.read(name)) ?? '', clock.now()));
}

/** The text of a journal with the end of its run. */
export function endedJournal(text: string, now: Instant): string {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const ended: RunEvent = { event: 'runEnded', outcome: 'failed', at: new Date(now).toISOString() };
  return `${whole}${printEvent(ended)}\n`;
}

/** Whether the name is that of a journal whose run has not ended. */
export function isUnfinished(name: string, text: string): boolean {
  if (runOfJournal(name) === undefined) return false;
  const last = eventSchema.safeParse(parseEvent(text.trimEnd().split('\n').at(-1) ?? '')).data;
  return last?.event !== 'runEnded';
}

export async function readRuns(store: StateStore): Promise<RunJournal[]> {
  return Promise.all((await listRuns(store)).map((runId) => readRun(store, runId)));
}

/** Runs whose journal was never closed: the next apply resumes what they started. */
export async function unfinishedRuns(store: StateStore): Promise<RunJournal[]> {
  return (await readRuns(store)).filter(({ events }) => events.at(-1)?.event !== 'runEnded');
}

const SHOWN_RUNS = 3;

/** The last runs that began since: `20260101T120000Z-1a2b3c (apply by alice)`. */
export async function runsSince(store: StateStore, at: Instant): Promise<string[]> {
  const ids = (await listRuns(store)).filter((id) => id >= timeName(at)).slice(-SHOWN_RUNS);
  return Promise.all(
    ids.map(async (id) => {
      const [first] = (await readRun(store, id)).events;
      if (first?.event !== 'runStarted') return id;
      return `${id} (${first.command} by ${first.source?.ci?.user ?? first.who})`;
    }),
  );
}

/** At most this many per run, so that a long history does not delay the end of an apply. */
const MOST_PRUNED = 50;

/**
 * Removes the journals of the oldest runs beyond `keep`. One that has not ended stays, whatever its age: the next apply
 * resumes it. A failure is only reported, because the run itself succeeded.
 */
export async function pruneRuns(store: StateStore, keep: number | undefined, log: Logger): Promise<void> {
  if (keep === undefined) return;
  try {
    const ids = await listRuns(store);
    for (const runId of ids.slice(0, Math.max(0, ids.length - keep)).slice(0, MOST_PRUNED)) {
      const name = nameOfJournal(runId);
      if (!isUnfinished(name, (await store.read(name)) ?? '')) await store.remove(name);
    }
  } catch (error) {
    // The run itself has reported it, or the next one removes them.
    if (hasCode(error, 'STATE_UNREACHABLE')) return;
    log.log('warn', `The journals of old runs could not be removed: ${toDiagnostic(error).detail}`);
  }
}

const REBUILD = advice`Restore the directory from a backup, or move the file away and rebuild: ${command('state recover')}`;

function damaged(file: string, line: number): never {
  throw new ProxwrightError({
    code: 'STATE_DAMAGED',
    where: { file, line },
    detail: 'This line of the journal is not an event, or is not as it was written.',
    hint: REBUILD,
  });
}

function impossible(file: string, line: number, problem: string): never {
  throw new ProxwrightError({
    code: 'STATE_DAMAGED',
    where: { file, line },
    detail: `This line of the journal records ${problem}, which cannot happen: the file was edited or damaged.`,
    hint: REBUILD,
  });
}

/** Others may begin between the choice of a name and the lock, but not again and again. */
const MOST_NAMES = 20;

/**
 * Takes the lock for a new run, whose name is that of the lock. A run that began while this one waited may have taken the
 * name, or a later one: two runs in one journal would be a damaged one. So the name is looked at again under the lock.
 */
export async function lockRun(
  store: StateStore,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  owner: Omit<LockOwner, 'runId' | 'since'>,
): Promise<{ readonly lock: StoreLock; readonly runId: string }> {
  for (let names = 1; names <= MOST_NAMES; names++) {
    const now = clock.now();
    const runId = await nextRunId(store, now, random);
    const lock = await store.lock({ ...owner, runId, since: new Date(now).toISOString() });
    try {
      const last = (await listRuns(store)).at(-1);
      if (last === undefined || last < runId) return { lock, runId };
    } catch (error) {
      await lock.release();
      throw error;
    }
    await lock.release();
  }
  throw new ProxwrightError({
    code: 'STATE_LOCKED',
    detail: 'Other runs of this stack took the lock again and again while this one waited for it.',
    hint: 'Run the command again.',
  });
}

const DIGITS = 6;

/**
 * A name for a new run: its time and some random digits. Journals are read in the order of their names, so the name must
 * sort after those of all earlier runs, also if two start within one second.
 */
export async function nextRunId(store: StateStore, now: Instant, random: Random): Promise<string> {
  const name = `${timeName(now)}-${randomHex(random.fork('run'), DIGITS)}`;
  const last = (await listRuns(store)).at(-1);
  return last === undefined || last < name ? name : successor(last);
}

/** The beginning of the name of a run that starts then. */
function timeName(at: Instant): string {
  return new Date(at)
    .toISOString()
    .replace(/[-:]/g, '')
    .replace(/\.\d+Z$/, 'Z');
}

/** The same time with the next number, and one more digit if the digits run out. */
function successor(runId: string): string {
  const [, time = runId, digits = ''] = /^(.*)-([0-9a-f]+)$/.exec(runId) ?? [];
  const next = (Number.parseInt(digits || '0', 16) + 1).toString(16).padStart(digits.length, '0');
  return next.length > digits.length ? `${runId}0` : `${time}-${next}`;
}
