/**
 * The simulator against every recorded scenario, in process and on virtual time: as recorded, and with other ids,
 * names, storages and sizes, which a table of memorised answers would fail.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { createSimulator, recordedWorld, type World } from '../../src/simulator/index.ts';
import { complaintsAbout, loadKnownMismatches } from './replay/known-mismatches.ts';
import { loadScenario, scenarioNames } from './replay/load.ts';
import { formatTotals } from './replay/report.ts';
import type { ReplayResult } from './replay/run.ts';
import type { Scenario } from './replay/types.ts';
import { replayOnVirtualTime } from './replay/virtual-time.ts';
import { substituteScenario } from './substitute.ts';
import { substituteWorld } from './substitute-world.ts';
import { substitutionFor } from './substitution.ts';

const known = loadKnownMismatches();

function replay(scenario: Scenario, alter: (world: World) => World = (world) => world): Promise<ReplayResult> {
  return replayOnVirtualTime(scenario, (clock) => {
    const world = alter(recordedWorld({ now: clock.now() }));
    return createSimulator({ world, clock, random: seededRandom(scenario.scenario) }).transport();
  });
}

describe('the simulator', () => {
  const results: ReplayResult[] = [];
  afterAll(() => {
    process.stdout.write(`as recorded: ${formatTotals(results)}\n`);
  });

  it.each(scenarioNames())('answers as recorded in %s', async (name) => {
    const result = await replay(loadScenario(name));
    results.push(result);
    expect(complaintsAbout(result, known).join('\n')).toBe('');
  });
});

describe('the simulator with substituted names', () => {
  const results: ReplayResult[] = [];
  afterAll(() => {
    process.stdout.write(`substituted: ${formatTotals(results)}\n`);
  });

  it.each(scenarioNames())('answers as recorded in %s with other ids, names, storages and sizes', async (name) => {
    const scenario = loadScenario(name);
    const substitution = substitutionFor(scenario);
    const result = await replay(substituteScenario(scenario, substitution), (world) =>
      substituteWorld(world, substitution),
    );
    results.push(result);
    expect(complaintsAbout(result, known).join('\n')).toBe('');
  });
});

describe('the list of known mismatches', () => {
  it('names only existing scenarios and steps', () => {
    const unknown = Object.entries(known).flatMap(([name, steps]) => {
      const ids = scenarioNames().includes(name) ? loadScenario(name).steps.map((step) => step.id) : [];
      return Object.keys(steps)
        .filter((step) => !ids.includes(step))
        .map((step) => `${name} ${step}`);
    });
    expect(unknown).toEqual([]);
  });
});
