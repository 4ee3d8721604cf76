/**
 * The memory of a run: the state it began with plus every event so far, and the journal that stores them. Views listen
 * here, so that they show only what is on disk.
 */
import type { Address } from '../base/address.ts';
import type { Instant } from '../base/clock.ts';
import type { StackState } from '../kinds/recorded.ts';
import {
  foldEvents,
  JOURNAL_FORMAT,
  type OpenStep,
  openSteps,
  type RunEvent,
  type RunSource,
} from '../state/events.ts';
import type { JournalWriter, NewEvent } from '../state/journal.ts';

/** What a resource is doing right now. It is shown and never stored. */
export interface Activity {
  readonly event: 'activity';
  readonly at: Instant;
  readonly address: Address;
  readonly text: string;
  readonly percent: number | undefined;
}

export type RunListener = (event: RunEvent | Activity) => void;

/** The first line of the journal: the command, and who runs it. */
export interface RunOrigin {
  readonly command: string;
  readonly who: string;
  readonly source?: RunSource | undefined;
}

export class RunMemory {
  readonly #journal: JournalWriter;
  readonly #origin: RunOrigin;
  readonly #listener: RunListener;
  readonly #requestsSent: (() => number) | undefined;
  #state: StackState;
  #hasStarted = false;

  /** `requestsSent` counts what the process has sent to the server so far. */
  constructor(
    state: StackState,
    journal: JournalWriter,
    origin: RunOrigin,
    listener: RunListener = () => {},
    requestsSent?: () => number,
  ) {
    this.#requestsSent = requestsSent;
    this.#state = state;
    this.#journal = journal;
    this.#origin = origin;
    this.#listener = listener;
  }

  get state(): StackState {
    return this.#state;
  }

  vm(address: Address): StackState['vms'][string] | undefined {
    return this.#state.vms[address];
  }

  get runId(): string {
    return this.#journal.runId;
  }

  get hasEnded(): boolean {
    return this.#journal.events.at(-1)?.event === 'runEnded';
  }

  /** Whether this run has recorded anything. */
  get hasEvents(): boolean {
    return this.#journal.events.length > 0;
  }

  /** Steps that this run started and whose end is unknown. */
  get openSteps(): readonly OpenStep[] {
    return openSteps(this.#journal.events);
  }

  /** Returns once the event is on disk; only then may the caller act on it. A run without events leaves no journal. */
  async record(event: NewEvent): Promise<void> {
    const { command, who, source } = this.#origin;
    const { runId } = this.#journal;
    if (!this.#hasStarted) {
      this.#hasStarted = true;
      const origin = { command, who, ...(source && { source }) };
      await this.#write({ event: 'runStarted', format: JOURNAL_FORMAT, runId, ...origin });
    }
    await this.#write(event);
  }

  async #write(event: NewEvent): Promise<void> {
    const written = await this.#journal.write(this.#counted(event));
    this.#state = foldEvents(this.#state, [written]);
    this.#listener(written);
  }

  #counted(event: NewEvent): NewEvent {
    const isCounted = event.event === 'stepStarted' || event.event === 'stepDone' || event.event === 'stepFailed';
    return isCounted && this.#requestsSent ? { ...event, requests: this.#requestsSent() } : event;
  }

  /** Records facts that belong to no step of a plan as one small step: a manual change of the state. */
  async recordEdit(step: string, address: string, facts: readonly Fact[]): Promise<void> {
    await recordEdit((event) => this.record(event), step, address, facts);
  }

  /** For people only. */
  tell(activity: Omit<Activity, 'event' | 'at'>): void {
    this.#listener({ event: 'activity', at: this.#journal.now(), ...activity });
  }
}

type Unplaced<Event> = Event extends unknown ? Omit<Event, 'step'> : never;
type Fact = Unplaced<Extract<NewEvent, { event: 'learned' | 'moved' }>>;

export async function recordEdit(
  record: (event: NewEvent) => Promise<unknown>,
  step: string,
  address: string,
  facts: readonly Fact[],
): Promise<void> {
  await record({ event: 'stepStarted', step, address, action: 'state.edit' });
  for (const fact of facts) await record({ ...fact, step });
  const isForgotten = facts.some((fact) => fact.event === 'learned' && fact.patch.vm === null);
  await record({ event: 'stepDone', step, ...(isForgotten && { endsOutageOf: address }) });
}
