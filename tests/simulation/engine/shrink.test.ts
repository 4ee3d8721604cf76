import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/base/random.ts';
import { shrink } from './support/shrink.ts';
import { replayCommand, storm } from './support/storm.ts';
import { chosenTroubles, faultsOf, killAt, printTrouble, troublesOf, weaker } from './support/troubles.ts';

const nothingSimpler = () => undefined;

describe('shrinking a failing list', () => {
  it('leaves exactly the items that it takes, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer(), { maxLength: 12 }),
        fc.infiniteStream(fc.boolean()),
        async (items, coin) => {
          const guilty = items.filter(() => coin.next().value === true);
          const found = await shrink(items, nothingSimpler, async (some) =>
            guilty.every((each) => some.includes(each)),
          );
          expect(found).toEqual(guilty);
        },
      ),
    );
  });

  it('makes what is left as simple as it can be', async () => {
    const countdown = (item: number) => (item > 0 ? item - 1 : undefined);
    const fails = async (items: readonly number[]) => items.some((item) => item >= 3) && items.length >= 2;
    expect(await shrink([9, 4, 7], countdown, fails)).toEqual([0, 3]);
  });

  it('keeps a list of which nothing can be missed, and asks of each part once', async () => {
    const asked: string[] = [];
    const found = await shrink(['a', 'b', 'c'], nothingSimpler, async (some) => {
      asked.push(some.join(''));
      return false;
    });
    expect(found).toEqual(['a', 'b', 'c']);
    expect(new Set(asked)).toEqual(new Set(['c', 'ab', 'bc', 'ac']));
  });
});

describe('the trouble of a storm', () => {
  const troubles = troublesOf(8);

  it('can be named on a command line, all of it or some', () => {
    expect(chosenTroubles(8, troubles.map(printTrouble).join(','))).toEqual(troubles);
    const [first] = troubles;
    if (!first) throw new Error('this seed draws nothing');
    const one = weaker(first) ?? first;
    expect(chosenTroubles(8, printTrouble(one))).toEqual([one]);
    expect(replayCommand(8, [one])).toBe(`npm run sim-test -- --seed 8 --troubles '${printTrouble(one)}'`);
    expect(chosenTroubles(8, '')).toEqual([]);
    expect(() => chosenTroubles(8, 'no-such-kind')).toThrow('no-such-kind');
  });

  it('becomes weaker until it strikes once, and not at all is no weaker form', () => {
    const lock = { kind: 'fault', rule: { kind: 'lock', probability: 0.1, times: 3 } } as const;
    expect(weaker(lock)).toEqual({ kind: 'fault', rule: { ...lock.rule, times: 2 } });
    expect(weaker({ kind: 'fault', rule: { ...lock.rule, times: 1 } })).toBeUndefined();
    expect(weaker({ kind: 'kill', run: 1, at: 7 })).toBeUndefined();
    expect(killAt([lock, { kind: 'kill', run: 2, at: 7 }], 2)).toBe(7);
    expect(killAt([lock, { kind: 'kill', run: 2, at: 7 }], 1)).toBeUndefined();
  });

  it('strikes the first thing it meets at the same place, whatever else was left out', async () => {
    const faults = troubles.filter(({ kind }) => kind === 'fault');
    const struck = async (some: typeof faults) => (await storm(8, {}, some)).strikes;
    const [first] = await struck(faults);
    const alone = faults.filter((trouble) => trouble.kind === 'fault' && trouble.rule.kind === first?.kind);
    expect(first).toBeDefined();
    expect((await struck(alone))[0]).toEqual(first);
  });

  it('is nothing where nothing was chosen', async () => {
    expect(faultsOf([], seededRandom(1)).rules).toEqual([]);
    expect((await storm(8, {}, [])).strikes).toEqual([]);
  });
});
