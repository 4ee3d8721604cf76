import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RunEvent } from './events.ts';
import { endedRun, interleaved, RUN_STARTED, siblings } from './testing/arbitraries.ts';
import { Transitions } from './transitions.ts';

function isPossible(events: readonly RunEvent[]): boolean {
  const transitions = new Transitions();
  return events.every((event) => transitions.accept(event) === undefined);
}

/** Every index at which the run has one of these events. */
const placesOf = (events: readonly RunEvent[], names: readonly RunEvent['event'][]) =>
  events.flatMap(({ event }, index) => (names.includes(event) ? [index] : []));

const without = (events: readonly RunEvent[], index: number) => events.toSpliced(index, 1);
const twice = (events: readonly RunEvent[], index: number) => events.flatMap((e, i) => (i === index ? [e, e] : [e]));

function swapped(events: readonly RunEvent[], a: number, b: number): RunEvent[] {
  const [first, second] = [events[a], events[b]];
  return first && second ? events.with(a, second).with(b, first) : [...events];
}

describe('the events of a random run', () => {
  it('are possible, also if the run died', () => {
    fc.assert(
      fc.property(siblings, fc.nat(), ({ histories, deal }, cut) => {
        const events = [RUN_STARTED, ...interleaved(histories, deal)];
        expect(isPossible(events.slice(0, 1 + (cut % events.length)))).toBe(true);
      }),
    );
    fc.assert(
      fc.property(endedRun, (events) => {
        expect(isPossible(events)).toBe(true);
      }),
    );
  });

  it('must not contain a start or an end twice', () => {
    const names = ['runStarted', 'stepStarted', 'stepDone', 'stepFailed', 'resourceEnded', 'runEnded'] as const;
    fc.assert(
      fc.property(endedRun, (events) => {
        for (const index of placesOf(events, names)) expect(isPossible(twice(events, index))).toBe(false);
      }),
    );
  });

  it('must contain the start of the run, and the start and the end of each step', () => {
    fc.assert(
      fc.property(endedRun, (events) => {
        const ends = placesOf(events, ['runStarted', 'stepStarted', 'stepDone', 'stepFailed']);
        for (const index of ends) expect(isPossible(without(events, index))).toBe(false);
      }),
    );
  });

  it('must not contain an event of a step before its start or after its end', () => {
    fc.assert(
      fc.property(endedRun, (events) => {
        for (const index of placesOf(events, ['stepStarted'])) {
          const start = events[index];
          if (start?.event !== 'stepStarted') continue;
          const others = events.flatMap((event, place) =>
            place > index && 'step' in event && event.step === start.step ? [place] : [],
          );
          const end = others.at(-1) ?? index;
          for (const place of others) {
            expect(isPossible(swapped(events, index, place))).toBe(false);
            if (place !== end) expect(isPossible(swapped(events, place, end))).toBe(false);
          }
        }
      }),
    );
  });
});
