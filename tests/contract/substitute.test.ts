/** The substitution itself: complete, consistent, reversible, and still a conversation that replays. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { RECORDED_CREDENTIALS } from './replay/credentials.ts';
import { loadScenario, scenarioNames } from './replay/load.ts';
import { recordedTransport } from './replay/recorded-transport.ts';
import { formatResult } from './replay/report.ts';
import { replayScenario } from './replay/run.ts';
import { isList, isObject, type Json, type JsonObject, type Scenario, type Step } from './replay/types.ts';
import { substituteScenario } from './substitute.ts';
import { type Substitution, substitutionFor } from './substitution.ts';
import { SUBSTITUTION_LIMITS } from './substitution-limits.ts';

/** Numbers and words that only look like an id or a storage. */
const COINCIDENCES = [
  /\b(?:iops|bps|memory|clone)=100\b/g,
  /^\+100M$/g,
  /^transferred .*/g,
  /\bunused\d+/g,
  /\bfe80::[0-9a-f:]+/g,
  /is local node/g,
];

describe('the substitution', () => {
  it('names only existing scenarios in its limits', () => {
    expect(scenarioNames()).toEqual(expect.arrayContaining(Object.keys(SUBSTITUTION_LIMITS)));
  });

  it.each(scenarioNames())('leaves no recorded id and storage in %s', (name) => {
    const scenario = loadScenario(name);
    const substitution = substitutionFor(scenario);
    expect(leftovers(substituteScenario(scenario, substitution), substitution)).toEqual([]);
  });

  it.each(scenarioNames())('can be undone in %s', (name) => {
    const scenario = loadScenario(name);
    const substitution = substitutionFor(scenario);
    const there = substituteScenario(scenario, substitution);
    expect(substituteScenario(there, inverse(substitution))).toEqual(scenario);
  });

  it.each(scenarioNames())('keeps %s a conversation that replays', async (name) => {
    const scenario = loadScenario(name);
    const substituted = substituteScenario(scenario, substitutionFor(scenario));
    const clock = new VirtualClock();
    const transport = recordedTransport(substituted, clock, RECORDED_CREDENTIALS.login.password);
    const result = await clock.run(() =>
      replayScenario(substituted, { transport, clock, credentials: RECORDED_CREDENTIALS, exactTime: true }),
    );
    expect(formatResult(result)).toBe(`ok   ${name} ${scenario.steps.length}/${scenario.steps.length}`);
  });
});

function leftovers(scenario: Scenario, substitution: Substitution): readonly string[] {
  const words = [...substitution.vmids.keys(), ...substitution.storages.keys()];
  if (words.length === 0) return [];
  const old = new RegExp(`(?<![a-z0-9])(?:${words.join('|')})(?![a-z0-9])`);
  return scenario.steps.flatMap((step) =>
    textsIn(withoutRemarks(step)).filter((text) =>
      old.test(COINCIDENCES.reduce((rest, coincidence) => rest.replaceAll(coincidence, ''), text)),
    ),
  );
}

function withoutRemarks(step: Step): Json {
  const { note: _note, until: _until, ...rest } = step as unknown as JsonObject; // steps are JSON by origin
  return rest;
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  if (isList(value)) return value.flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap(textsIn) : [];
}

function inverse({ vmids, names, storages, sizes }: Substitution): Substitution {
  const swapped = (map: ReadonlyMap<string, string>) => new Map([...map].map(([from, to]) => [to, from]));
  return {
    vmids: swapped(vmids),
    names: swapped(names),
    storages: new Map(
      [...storages].map(([name, { name: other, oldPath, path }]) => [other, { name, oldPath: path, path: oldPath }]),
    ),
    sizes: sizes.map(({ fromKiB, toKiB, gib }) => ({
      fromKiB: toKiB,
      toKiB: fromKiB,
      ...(gib && { gib: { from: gib.to, to: gib.from } }),
    })),
  };
}
