/** Requests a second: the simulator as a function, through the client, and over TLS. */
import {
  createHttpsTransport,
  createPve,
  encodeForm,
  fingerprintTrust,
  parseEndpoint,
  parseToken,
} from '../../src/pve/index.ts';
import { serveSimulator } from '../../src/simulator/http/server.ts';
import { createSimulator, recordedWorld, seededRandom, systemClock } from '../../src/simulator/index.ts';
import { type Measured, measure, measureTogether } from './measure.ts';
import { AUTHORIZATION, get, ok, TOKEN } from './requests.ts';

export interface Rates {
  readonly inProcess: Readonly<Record<string, Measured>>;
  readonly tls: Readonly<Record<string, Measured>>;
  /** What the client adds to one in-process request: building, sending, decoding and checking the answer. */
  readonly clientOverheadMs: number;
  readonly clientRatio: number;
}

export async function benchRates(budgetMs: number): Promise<Rates> {
  const clock = systemClock;
  const world = recordedWorld({ now: clock.now() });
  const simulator = createSimulator({ world, clock, random: seededRandom('bench') });
  const config = get('/nodes/pve1/qemu/9100/config');
  const change = {
    method: 'PUT',
    target: '/api2/json/nodes/pve1/qemu/100/config',
    headers: { authorization: AUTHORIZATION, 'content-type': 'application/x-www-form-urlencoded' },
  };
  let cores = 1;
  const raw = await measure(budgetMs, () => ok(simulator.handle(config)));
  const pve = createPve({ transport: simulator.transport(), credentials: parseToken(TOKEN), clock });
  const vm = pve.node('pve1').vm(9100);
  const throughClient = await measure(budgetMs, () => vm.config.get());
  const inProcess = {
    'GET /version': await measure(budgetMs, () => ok(simulator.handle(get('/version')))),
    'GET …/config': raw,
    'GET …/config, through the client': throughClient,
    'PUT …/config, with the waits it simulates': await measure(budgetMs, () => {
      cores = (cores % 2) + 1;
      return ok(simulator.handle({ ...change, body: encodeForm({ cores }) }));
    }),
    'GET /cluster/resources': await measure(budgetMs, () => ok(simulator.handle(get('/cluster/resources')))),
  };
  await pve.close();

  const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
  const trust = fingerprintTrust(server.fingerprint);
  const transport = createHttpsTransport({ endpoint: parseEndpoint(server.endpoint), trust });
  try {
    const tls = {
      'GET …/config, one after the other': await measure(budgetMs, () => ok(transport.send(config))),
      'GET …/config, 8 at once': await measureTogether(budgetMs, 8, () => ok(transport.send(config))),
    };
    return {
      inProcess,
      tls,
      clientOverheadMs: throughClient.medianMs - raw.medianMs,
      clientRatio: throughClient.medianMs / raw.medianMs,
    };
  } finally {
    await transport.close();
    await server.close();
  }
}
