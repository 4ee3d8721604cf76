import { type AddressInfo, createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../base/clock.ts';
import { fingerprintTrust, parseEndpoint } from '../pve/index.ts';
import {
  createSimulator,
  defaultWorld,
  type SimulatorServer,
  seededRandom,
  serveSimulator,
} from '../simulator/index.ts';
import { findSimulator, portProbeFor } from './simulator.ts';

let server: SimulatorServer | undefined;
afterEach(() => server?.close());

async function serve(speed?: number) {
  const world = defaultWorld({ now: systemClock.now() });
  const simulator = createSimulator({ world, clock: systemClock, random: seededRandom('local') });
  server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0, ...(speed && { speed }) });
  return { endpoint: parseEndpoint(server.endpoint), trust: fingerprintTrust(server.fingerprint) };
}

describe('a simulator on this machine', () => {
  it('says that it is one, and how fast it runs', async () => {
    expect(await findSimulator(await serve(20))).toMatchObject({ speed: 20 });
  });

  it('answers for the ports of its guests, even if this machine could reach something else there', async () => {
    const connection = await serve();
    const probe = portProbeFor(connection);
    // The server itself listens there; no simulated guest does.
    expect(await probe.isOpen('127.0.0.1', connection.endpoint.port, { timeoutMs: 1_000 })).toBe(false);
  });

  it('is asked again if it did not answer, and no real port is probed meanwhile', async () => {
    const { endpoint, trust } = await serve();
    await server?.close();
    const listening = createServer();
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
    const { port } = listening.address() as AddressInfo; // it listens on a port, not on a pipe
    let accepted = 0;
    listening.on('connection', () => accepted++);
    try {
      const probe = portProbeFor({ endpoint, trust });
      expect(await probe.isOpen('127.0.0.1', port, { timeoutMs: 1_000 })).toBe(false);
      expect(await probe.isOpen('127.0.0.1', port, { timeoutMs: 1_000 })).toBe(false);
      expect(accepted).toBe(0);
    } finally {
      listening.close();
    }
  });

  it('is not trusted without its certificate', async () => {
    const { endpoint } = await serve();
    const trust = fingerprintTrust('00'.repeat(32));
    expect(await findSimulator({ endpoint, trust })).toBeUndefined();
  });

  it('is searched only on loopback addresses', async () => {
    expect(await findSimulator({ endpoint: parseEndpoint('https://pve1.example.invalid:8006') })).toBeUndefined();
  });
});
