/**
 * The same scenarios over the simulator's HTTPS server: bytes, headers, reason phrases and encodings are real.
 * Server and replayer share a clock that runs faster than ours. PROXWRIGHT_CONTRACT_SPEED sets how much faster,
 * PROXWRIGHT_CONTRACT_TLS=all replays everything; otherwise those whose recording took more than a few seconds are
 * left to the in-process run. Time is not exact here, because on a fast clock an answer may come late.
 */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { createSimulator, recordedWorld, serveSimulator } from '../../src/simulator/index.ts';
import { RECORDED_CREDENTIALS } from './replay/credentials.ts';
import { fastClock } from './replay/fast-clock.ts';
import { httpsTransport } from './replay/https-transport.ts';
import { complaintsAbout, loadKnownMismatches } from './replay/known-mismatches.ts';
import { loadAllScenarios } from './replay/load.ts';
import { replayScenario } from './replay/run.ts';
import type { Scenario } from './replay/types.ts';

const speed = Number(process.env.PROXWRIGHT_CONTRACT_SPEED ?? 5);
const everything = process.env.PROXWRIGHT_CONTRACT_TLS === 'all';
const LONGEST_RECORDING_MS = 4_000;

const known = loadKnownMismatches();
const chosen = loadAllScenarios().filter((scenario) => everything || isQuick(scenario));

describe('the simulator over HTTPS', () => {
  it.each(chosen.map((scenario) => [scenario.scenario, scenario] as const))(
    'answers like the recorded server in %s',
    // On a machine that stalls, the shared clock may pass a moment that the recording did not. A wrong answer stays wrong.
    { retry: 2 },
    async (_name, scenario) => {
      const clock = fastClock(speed);
      const simulator = createSimulator({
        world: recordedWorld({ now: clock.now() }),
        clock,
        random: seededRandom(scenario.scenario),
      });
      const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
      try {
        const transport = httpsTransport(new URL(server.endpoint).origin, { fingerprint: server.fingerprint });
        const result = await replayScenario(scenario, {
          transport,
          clock,
          credentials: RECORDED_CREDENTIALS,
          exactTime: false,
        });
        expect(complaintsAbout(result, known).join('\n')).toBe('');
      } finally {
        await server.close();
      }
    },
  );

  it('covers most of the recorded scenarios', () => {
    process.stdout.write(`over HTTPS: ${chosen.length} of ${loadAllScenarios().length} scenarios at speed ${speed}\n`);
    expect(chosen.length).toBeGreaterThan(loadAllScenarios().length / 2);
  });
});

function isQuick(scenario: Scenario): boolean {
  const waits = scenario.steps.map((step) => {
    if (step.kind === 'poll') return step.samples.at(-1)?.t ?? 0;
    return 'ms' in step ? step.ms : 0;
  });
  return waits.reduce((sum, ms) => sum + ms, 0) <= LONGEST_RECORDING_MS;
}
