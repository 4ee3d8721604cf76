/** Mismatches that are known and explained. The list only ever shrinks: one that no longer occurs must be removed. */
import { readContractJson } from './load.ts';
import { formatStep } from './report.ts';
import type { ReplayResult } from './run.ts';

/** Scenario → step id → why. */
type KnownMismatches = Readonly<Record<string, Readonly<Record<string, string>>>>;

export const loadKnownMismatches = (): KnownMismatches => readContractJson<KnownMismatches>('known-mismatches.json');

/** What is wrong with a result in the light of the list: news in it, and entries of the list that are stale. */
export function complaintsAbout(result: ReplayResult, known: KnownMismatches): readonly string[] {
  const listed = known[result.scenario] ?? {};
  const news = result.mismatches.filter(({ step }) => !Object.hasOwn(listed, step)).map(formatStep);
  const failing = new Set(result.mismatches.map(({ step }) => step));
  const stale = Object.keys(listed).filter((step) => !failing.has(step));
  return [...news, ...stale.map((step) => `  ${step}  matches now: remove it from known-mismatches.json`)];
}
