/**
 * How much a sweep tries. A sweep (`*.sweep.test.ts`) runs in both parts of the suite: `npm test` takes a sample of its
 * points and seeds, so that every promise is exercised in minutes, and `npm run test:deep` takes many. With
 * PROXWRIGHT_KILL_POINTS=all the deep part takes every point and every seed.
 */
type Depth = 'sample' | 'deep' | 'all';

function currentDepth(): Depth {
  // The part of the suite that runs says this; see vitest.config.ts.
  if (process.env.PROXWRIGHT_DEPTH === 'sample') return 'sample';
  return process.env.PROXWRIGHT_KILL_POINTS === 'all' ? 'all' : 'deep';
}

const DEPTH = currentDepth();
export const IS_SAMPLE = DEPTH === 'sample';
export const IS_ALL = DEPTH === 'all';

/** Of seeds, stories or other cases, as many as the depth asks for. */
export function byDepth(sample: number, deep: number, all = deep): number {
  return { sample, deep, all }[DEPTH];
}

const SAMPLE_POINTS = 4;

/**
 * Of the points 1 to `count` of a run: a few from beginning to end, every n-th, or all of them. Stories that have the same
 * points begin at another one each: `shift`.
 */
export function pointsOf(count: number, stride: number, shift = 0): number[] {
  if (DEPTH === 'sample' && count > SAMPLE_POINTS) {
    return Array.from({ length: SAMPLE_POINTS }, (_, index) => Math.ceil(((index + 0.5) * count) / SAMPLE_POINTS));
  }
  const every = DEPTH === 'all' ? 1 : stride;
  const first = 1 + (shift % every);
  return Array.from({ length: Math.ceil((count - first + 1) / every) }, (_, index) => first + index * every);
}

/** The same choice of the items of a list. */
export function someOf<Item>(items: readonly Item[]): Item[] {
  const points = new Set(pointsOf(items.length, 1));
  return items.filter((_, index) => points.has(index + 1));
}

/** Whether a case is tried: of each kind the first few, or all of them. */
export function atMostEach(tries: number): (kind: string) => boolean {
  const seen = new Map<string, number>();
  return (kind) => {
    const before = seen.get(kind) ?? 0;
    seen.set(kind, before + 1);
    return IS_ALL || before < tries;
  };
}
