/** Real downloads from a server of this test, on a loopback address. */
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scaledClock, systemClock } from '../../base/clock.ts';
import { seededRandom } from '../../base/random.ts';
import { createSimulator } from '../core/simulator.ts';
import { buildWorld } from '../world/build-world.ts';
import { fetchLoopback } from './loopback-fetch.ts';

const IMAGE = Buffer.alloc(70_000);
IMAGE.writeUInt32BE(0x514649fb, 0);
IMAGE.writeUInt32BE(3, 4);
IMAGE.writeUInt32BE(2 ** 30, 28);
const SHA256 = createHash('sha256').update(IMAGE).digest('hex');
const SECRET = '00000000-0000-4000-8000-000000000001';

let server: Server;
let base: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.url === '/disk.qcow2') response.setHeader('content-type', 'application/x-qemu-disk').end(IMAGE);
    else if (request.url === '/moved') response.writeHead(302, { location: '/disk.qcow2' }).end();
    else if (request.url === '/away') response.writeHead(302, { location: 'http://192.0.2.1/disk.qcow2' }).end();
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
});

function newWorld() {
  return buildWorld(
    {
      nodes: { pve1: {} },
      storages: { local: { content: ['import'] } },
      users: { 'root@pam': { tokens: { admin: { secret: SECRET, privsep: false } } } },
    },
    { now: systemClock.now() },
  );
}

describe('a URL of this machine', () => {
  it('is downloaded, and its bytes give size, checksums and format', async () => {
    for (const url of [`${base}/disk.qcow2`, `${base}/moved`, `${base.replace('127.0.0.1', 'localhost')}/disk.qcow2`]) {
      expect(await fetchLoopback(newWorld(), url), url).toMatchObject({
        kind: 'file',
        remote: { sizeBytes: 70_000, format: 'qcow2', virtualSizeBytes: 2 ** 30, checksums: { sha256: SHA256 } },
      });
    }
  });

  it('is refused as its server refuses it, and redirects to other machines are not followed', async () => {
    expect(await fetchLoopback(newWorld(), `${base}/nosuch`)).toEqual({ kind: 'status', status: 404 });
    expect(await fetchLoopback(newWorld(), `${base}/away`)).toEqual({ kind: 'refused' });
  });
});

it('does not fetch from any other machine', async () => {
  for (const url of [
    'http://192.0.2.1/x',
    'http://127.0.0.1.example.com/x',
    'https://example.com/x',
    'file:///etc/passwd',
  ]) {
    expect(await fetchLoopback(newWorld(), url), url).toBeUndefined();
  }
});

it('lets a node download a file that this machine serves', async () => {
  const world = newWorld();
  const clock = scaledClock(systemClock, 1_000);
  const simulator = createSimulator({ world, clock, random: seededRandom('fetch'), fetchLoopback: true });
  const body = new URLSearchParams({
    content: 'import',
    filename: 'disk.qcow2',
    url: `${base}/disk.qcow2`,
    checksum: SHA256,
    'checksum-algorithm': 'sha256',
  }).toString();
  const answer = await simulator.handle({
    method: 'POST',
    target: '/api2/json/nodes/pve1/storage/local/download-url',
    headers: {
      authorization: `PVEAPIToken=root@pam!admin=${SECRET}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body,
  });
  const upid = (JSON.parse(answer.body) as { data: string }).data;
  await simulator.runtime.tasks.ended(upid);
  expect(world.tasks.get(upid)?.exitStatus).toBe('OK');
  expect(world.storages.get('local')?.volumes.get('pve1')?.get('import/disk.qcow2')).toMatchObject({
    sizeBytes: 70_000,
    virtualSizeBytes: 2 ** 30,
  });
});
