/**
 * The same scenarios over the simulator's HTTPS server: bytes, headers, reason phrases and encodings are real. Time is
 * virtual and stands still while bytes are on their way, so every moment is as exact as in process.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Transport } from '../../src/base/transport.ts';
import type { VirtualClock } from '../../src/base/virtual-clock.ts';
import { createCertificate, createSimulator, recordedWorld, serveSimulator } from '../../src/simulator/index.ts';
import { httpsTransport } from './replay/https-transport.ts';
import { complaintsAbout, loadKnownMismatches } from './replay/known-mismatches.ts';
import { loadScenario, scenarioNames } from './replay/load.ts';
import { timelessNetwork } from './replay/over-https.ts';
import { formatTotals } from './replay/report.ts';
import type { ReplayResult } from './replay/run.ts';
import { replayOnVirtualTime } from './replay/virtual-time.ts';

const HOST = '127.0.0.1';
const known = loadKnownMismatches();
const certificate = await createCertificate(HOST, systemClock.now());

/** A fresh simulator behind its server; closing the transport closes the server. */
async function served(name: string, clock: VirtualClock): Promise<Transport> {
  const world = recordedWorld({ now: clock.now() });
  const simulator = createSimulator({ world, clock, random: seededRandom(name) });
  const network = timelessNetwork(clock);
  const server = await serveSimulator(network.serverSide(simulator), { host: HOST, port: 0, certificate });
  const transport = httpsTransport(server.endpoint, { fingerprint: server.fingerprint });
  return { ...network.clientSide(transport), close: () => server.close() };
}

describe('the simulator over HTTPS', () => {
  const results: ReplayResult[] = [];
  afterAll(() => {
    process.stdout.write(`over HTTPS: ${formatTotals(results)}\n`);
  });

  it.each(scenarioNames())('answers as recorded in %s', async (name) => {
    const result = await replayOnVirtualTime(loadScenario(name), (clock) => served(name, clock));
    results.push(result);
    expect(complaintsAbout(result, known).join('\n')).toBe('');
  });
});
