/** The journal of each run: one line a fact, on disk before we act on it. */
import type { Clock } from '../base/clock.ts';
import { ProxwrightError } from '../base/errors.ts';
import { advice, command } from '../base/hint.ts';
import { eventSchema, type RunEvent } from './events.ts';
import type { StateStore } from './store.ts';

const FOLDER = 'runs/';

export interface RunJournal {
  readonly runId: string;
  readonly events: readonly RunEvent[];
}

type Unstamped<Event> = Event extends unknown ? Omit<Event, 'at'> : never;
/** An event before the journal has put the time on it. */
export type NewEvent = Unstamped<RunEvent>;

/** Appends to the journal of the run under way. */
export class JournalWriter {
  readonly runId: string;
  readonly #store: StateStore;
  readonly #clock: Clock;
  readonly #events: RunEvent[] = [];
  /**
   * Lines go to disk one after the other, in the order they were handed in. It stays rejected once one could not be
   * written: a line behind a torn one would make the journal unreadable.
   */
  #tail: Promise<void> = Promise.resolve();

  constructor(store: StateStore, clock: Clock, runId: string) {
    this.#store = store;
    this.#clock = clock;
    this.runId = runId;
  }

  /** What is on disk. */
  get events(): readonly RunEvent[] {
    return this.#events;
  }

  async write(event: NewEvent): Promise<void> {
    const stamped = { ...event, at: new Date(this.#clock.now()).toISOString() } as RunEvent; // adds the one field left out
    this.#tail = this.#tail.then(async () => {
      await this.#store.append(`${FOLDER}${this.runId}.jsonl`, JSON.stringify(stamped));
      this.#events.push(stamped);
    });
    await this.#tail;
  }
}

/** Earlier runs, oldest first: run ids begin with their time. */
export async function listRuns(store: StateStore): Promise<string[]> {
  const names = await store.list(FOLDER);
  return names.filter((name) => name.endsWith('.jsonl')).map((name) => name.slice(FOLDER.length, -'.jsonl'.length));
}

export async function readRun(store: StateStore, runId: string): Promise<RunJournal> {
  const text = (await store.read(`${FOLDER}${runId}.jsonl`)) ?? '';
  const lines = text.split('\n');
  const events: RunEvent[] = [];
  for (const [index, line] of lines.entries()) {
    if (line === '') continue;
    const event = parseLine(line);
    // A run that died while writing leaves a last line without its end: it never counted.
    if (!event && index === lines.length - 1) break;
    if (!event) throw damaged(store.placeOf(`${FOLDER}${runId}.jsonl`), index + 1);
    events.push(event);
  }
  return { runId, events };
}

/** Closes the journal of a run that died, without the part of a line it may have left: the next line would join it. */
export async function closeRun(store: StateStore, clock: Clock, runId: string): Promise<void> {
  const name = `${FOLDER}${runId}.jsonl`;
  const text = (await store.read(name)) ?? '';
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  const ended: RunEvent = { event: 'runEnded', outcome: 'failed', at: new Date(clock.now()).toISOString() };
  await store.write(name, `${whole}${JSON.stringify(ended)}\n`);
}

export async function readRuns(store: StateStore): Promise<RunJournal[]> {
  return Promise.all((await listRuns(store)).map((runId) => readRun(store, runId)));
}

/** Runs whose journal was never closed: the next apply takes up what they began. */
export async function unfinishedRuns(store: StateStore): Promise<RunJournal[]> {
  return (await readRuns(store)).filter(({ events }) => !events.some(({ event }) => event === 'runEnded'));
}

function parseLine(line: string): RunEvent | undefined {
  try {
    const parsed = eventSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

function damaged(file: string, line: number): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_DAMAGED',
    where: { file, line },
    detail: 'This line of the journal is not an event of a run.',
    hint: advice`Restore the directory from a backup, or set the file aside and rebuild: ${command('state recover')}`,
  });
}
