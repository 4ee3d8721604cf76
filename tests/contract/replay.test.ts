/** The replayer itself: nothing on disk is skipped, and against a server that repeats the recordings all matches. */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { RECORDED_CREDENTIALS } from './replay/credentials.ts';
import { loadAllScenarios, loadScenario, readContractJson, scenarioNames } from './replay/load.ts';
import { recordedTransport } from './replay/recorded-transport.ts';
import { formatResult } from './replay/report.ts';
import { replayScenario } from './replay/run.ts';

interface Counts {
  readonly scenarios: number;
  readonly steps: Readonly<Record<string, number>>;
}

describe('the recorded scenarios', () => {
  const counts = readContractJson<Counts>('scenarios.count.json');

  it('are exactly as many as counted, with exactly the counted steps', () => {
    expect(scenarioNames().length).toBe(counts.scenarios);
    const steps = Object.fromEntries(scenarioNames().map((name) => [name, loadScenario(name).steps.length]));
    expect(steps).toEqual(counts.steps);
  });

  it('carry the name of their file', () => {
    expect(loadAllScenarios().map((scenario) => scenario.scenario)).toEqual(scenarioNames());
  });
});

describe('the replayer', () => {
  it.each(scenarioNames())('matches every step of %s against a server that repeats the recording', async (name) => {
    const clock = new VirtualClock();
    const scenario = loadScenario(name);
    const transport = recordedTransport(scenario, clock, RECORDED_CREDENTIALS.login.password);
    const result = await clock.run(() =>
      replayScenario(scenario, { transport, clock, credentials: RECORDED_CREDENTIALS, exactTime: true }),
    );
    expect(formatResult(result)).toBe(`ok   ${name} ${scenario.steps.length}/${scenario.steps.length}`);
  });
});
