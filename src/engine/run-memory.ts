/** The memory of a run: the state it began with plus every event so far, and the journal that makes them last. */
import type { Address } from '../base/address.ts';
import { foldEvents, type OpenStep, openSteps } from '../state/events.ts';
import type { JournalWriter, NewEvent } from '../state/journal.ts';
import type { StackState, VmState } from '../state/stack-state.ts';

export class RunMemory {
  readonly #journal: JournalWriter;
  #state: StackState;

  constructor(state: StackState, journal: JournalWriter) {
    this.#state = state;
    this.#journal = journal;
  }

  get state(): StackState {
    return this.#state;
  }

  vm(address: Address): VmState | undefined {
    return this.#state.vms[address];
  }

  /** Whether anything was written down in this run. */
  get hasEvents(): boolean {
    return this.#journal.events.length > 0;
  }

  /** What this run began and cannot tell the end of. */
  get openSteps(): readonly OpenStep[] {
    return openSteps(this.#journal.events);
  }

  /** Returns once the event is on disk; only then does anybody act on it. */
  async record(event: NewEvent): Promise<void> {
    await this.#journal.write(event);
    const written = this.#journal.events.at(-1);
    if (written) this.#state = foldEvents(this.#state, [written]);
  }
}
