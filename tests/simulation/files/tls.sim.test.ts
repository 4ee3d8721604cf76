/** The whole way of an upload over a real connection: our transport, the simulator's server, its task, and back. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { createPve, fingerprintTrust, parseEndpoint, parseToken } from '../../../src/pve/index.ts';
import {
  createSimulator,
  defaultWorld,
  seededRandom,
  serveSimulator,
  systemClock,
} from '../../../src/simulator/index.ts';
import { TOKEN } from './bench.ts';

const PIECE = Buffer.alloc(256 * 1024, 'disk');
const SIZE_BYTES = 64 * 1024 ** 2;

it('sends a stream of 64 MiB unchanged, and reports its progress', async () => {
  const simulator = createSimulator({ world: defaultWorld(), clock: systemClock, random: seededRandom('tls') });
  const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
  const pve = createPve({
    connection: { endpoint: parseEndpoint(server.endpoint), trust: fingerprintTrust(server.fingerprint) },
    credentials: parseToken(TOKEN),
  });
  try {
    const hash = createHash('sha256');
    for (let sent = 0; sent < SIZE_BYTES; sent += PIECE.byteLength) hash.update(PIECE);
    const value = hash.digest('hex');
    const body = {
      sizeBytes: SIZE_BYTES,
      async *open() {
        for (let sent = 0; sent < SIZE_BYTES; sent += PIECE.byteLength) yield PIECE;
      },
    };
    const told: number[] = [];
    const upid = await pve
      .node('pve1')
      .storage('local')
      .upload(
        { content: 'import', filename: 'disk.raw', bytes: body, checksum: { algorithm: 'sha256', value } },
        { onSent: (bytes) => told.push(bytes) },
      );
    await pve.tasks.wait(upid);
    const [entry] = (await pve.node('pve1').storage('local').content.list({ content: 'import' })).filter(
      ({ volid }) => volid === 'local:import/disk.raw',
    );
    expect(entry?.size).toBe(SIZE_BYTES);
    expect(told.at(-1)).toBeGreaterThan(SIZE_BYTES);
    expect(told.length).toBeGreaterThan(200);
  } finally {
    await pve.close();
    await server.close();
  }
});
