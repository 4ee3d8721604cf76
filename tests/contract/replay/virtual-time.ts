/** Replaying on a clock that only moves when everything waits, in process or over a network that takes no time. */
import type { Transport } from '../../../src/base/transport.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { RECORDED_CREDENTIALS } from './credentials.ts';
import { whole } from './exchange.ts';
import { readContractJson } from './load.ts';
import { type ReplayResult, replayScenario } from './run.ts';
import type { Scenario } from './types.ts';

/** Time starts where the recording of the base world ended: nothing in it was made in the future. */
const recordedAtMs = readContractJson<{ readonly recordedAt: number }>('base-world.json').recordedAt * 1000;

/** `serverFor` makes a fresh server on the given clock. One that stalls or throws has matched nothing. */
export async function replayOnVirtualTime(
  scenario: Scenario,
  serverFor: (clock: VirtualClock) => Transport | Promise<Transport>,
): Promise<ReplayResult> {
  const clock = new VirtualClock(recordedAtMs);
  try {
    const transport = await serverFor(clock);
    const options = { transport, clock, credentials: RECORDED_CREDENTIALS, exactTime: true };
    return await clock.run(() => replayScenario(scenario, options)).finally(() => transport.close());
  } catch (error) {
    const failure = { step: 'all', request: 'replay', mismatches: [whole('an end of the scenario', error)] };
    return { scenario: scenario.scenario, ok: 0, total: scenario.steps.length, mismatches: [failure] };
  }
}
