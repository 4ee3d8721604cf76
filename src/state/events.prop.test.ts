import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../base/virtual-clock.ts';
import { emptyState, type StackState } from '../kinds/recorded.ts';
import { foldEvents, openSteps, type RunEvent } from './events.ts';
import { JournalWriter, readRun } from './journal.ts';
import { MemoryStore } from './memory-store.ts';
import { ADDRESSES, formerAddress, interleaved, RUN_STARTED, siblings, vmState } from './testing/arbitraries.ts';

const beginning: fc.Arbitrary<StackState> = fc
  .dictionary(fc.constantFrom(...ADDRESSES, ...ADDRESSES.map(formerAddress)), vmState)
  .map((vms) => ({ ...emptyState('lab'), serial: 7, vms: { ...vms } }));

const inAnyOrder = (state: StackState) => Object.entries(state.vms).sort(([a], [b]) => (a < b ? -1 : 1));

describe('folding the events of a run', () => {
  it('gives the same state in whatever order the events of siblings interleave', () => {
    fc.assert(
      fc.property(beginning, siblings, (state, { histories, deal }) => {
        const oneByOne = foldEvents(state, histories.flat());
        const mixed = foldEvents(state, interleaved(histories, deal));
        expect(inAnyOrder(mixed)).toEqual(inAnyOrder(oneByOne));
      }),
    );
  });

  it('changes nothing when it is repeated, so a state written during a run does no harm', () => {
    fc.assert(
      fc.property(beginning, siblings, fc.nat(), (state, { histories, deal }, cut) => {
        const events = interleaved(histories, deal);
        const once = foldEvents(state, events);
        const halfWay = foldEvents(state, events.slice(0, cut % (events.length + 1)));
        expect(inAnyOrder(foldEvents(once, events))).toEqual(inAnyOrder(once));
        expect(inAnyOrder(foldEvents(halfWay, events))).toEqual(inAnyOrder(once));
      }),
    );
  });

  it('does not change the state that it started from', () => {
    fc.assert(
      fc.property(beginning, siblings, (state, { histories }) => {
        const before = structuredClone(state);
        foldEvents(state, histories.flat());
        expect(state).toEqual(before);
      }),
    );
  });

  it('gives the same state from the journal on disk as from the events in memory', async () => {
    await fc.assert(
      fc.asyncProperty(beginning, siblings, async (state, { histories, deal }) => {
        const store = new MemoryStore();
        const journal = new JournalWriter(store, new VirtualClock(), '20260101-a');
        for (const { at: _, ...event } of [RUN_STARTED, ...interleaved(histories, deal)]) {
          await journal.write(event as RunEvent);
        }
        const { events } = await readRun(store, '20260101-a');
        expect(events).toEqual(journal.events);
        expect(foldEvents(state, events)).toEqual(foldEvents(state, journal.events));
      }),
    );
  });

  it('names exactly the steps that were started and not ended, or lost, whatever other steps do', () => {
    fc.assert(
      fc.property(siblings, ({ histories, deal }) => {
        const events = interleaved(histories, deal);
        const started = events.flatMap((event) => (event.event === 'stepStarted' ? [event.step] : []));
        const ended = new Set(
          events.flatMap((event) =>
            event.event === 'stepDone' || (event.event === 'stepFailed' && !event.lost) ? [event.step] : [],
          ),
        );
        expect(openSteps(events).map(({ step }) => step)).toEqual(started.filter((step) => !ended.has(step)));
      }),
    );
  });
});
