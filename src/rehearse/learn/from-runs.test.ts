/** What the length of whole runs tells beside the length of their steps. */
import { describe, expect, it } from 'vitest';
import type { RunRecord } from '../../engine/record/run-record.ts';
import { defaultDurations, learned } from './durations.ts';
import { stretchedDurations } from './from-runs.ts';

function run(durationMs: number, steps: readonly (readonly [action: string, durationMs: number])[]): RunRecord {
  const found = steps.map(([action, ms]) => ({ action, durationMs: ms, outcome: 'done' }));
  return { durationMs, steps: found } as unknown as RunRecord; // nothing else is read
}

describe('runs as a whole', () => {
  const known = {
    ...defaultDurations(new Map(), 10),
    extras: new Map([
      ['vm.clone', learned([900], 'runs')],
      ['vm.resize', learned([100], 'runs')],
    ]),
  };
  const rehearsed = run(4_000, [
    ['vm.clone', 3_000],
    ['vm.resize', 1_000],
    ['vm.verify', 50],
  ]);
  const extrasAfter = (runs: readonly RunRecord[]) => {
    const { next } = stretchedDurations(known, rehearsed, runs);
    return next && ['vm.clone', 'vm.resize', 'vm.verify'].map((action) => next.extras.get(action)?.value);
  };
  const taking = (ms: number) =>
    run(ms, [
      ['vm.verify', 50],
      ['vm.resize', 1_000],
      ['vm.clone', 3_000],
    ]);

  it('stretch the actions of the server, each by its share, until the rehearsal takes as long', () => {
    expect(extrasAfter([taking(4_800)])).toEqual([900 + 600, 100 + 200, undefined]);
    expect(extrasAfter([taking(3_000), taking(4_400), taking(9_000)])).toEqual([900 + 300, 100 + 100, undefined]);
    expect(stretchedDurations(known, rehearsed, [taking(4_800)]).offMs).toBe(800);
  });

  it('shorten them too, but no action takes less than nothing', () => {
    expect(extrasAfter([taking(3_200)])).toEqual([900 - 600, 0, undefined]);
  });

  it('count only if they did the same, and change nothing that is close already', () => {
    expect(extrasAfter([])).toBeUndefined();
    expect(extrasAfter([run(9_000, [['vm.clone', 3_000]])])).toBeUndefined();
    expect(extrasAfter([taking(4_079)])).toBeUndefined();
    expect(stretchedDurations(known, rehearsed, [taking(4_079)]).offMs).toBe(79);
  });
});
