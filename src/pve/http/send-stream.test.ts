/** Bodies that do not fit into memory, over a real TLS connection. */
import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { type StreamBody, type Transport, TransportFailure, type WireRequest } from '../../base/transport.ts';
import { type TestCertificate, testCertificate } from '../testing/tls-server.ts';
import { fingerprintTrust, parseEndpoint } from './endpoint.ts';
import { createHttpsTransport } from './https-transport.ts';

const MiB = 1024 ** 2;
const PIECE = Buffer.alloc(256 * 1024, 'proxwright');

let certificate: TestCertificate;
const open: { close(): unknown }[] = [];

beforeAll(async () => {
  certificate = await testCertificate();
});

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function connect(handler: RequestListener): Promise<Transport> {
  const server = createServer({ key: certificate.key, cert: certificate.cert });
  server.on('request', handler);
  server.on('connection', (socket) => socket.on('error', () => {}));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push({
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  });
  const { port } = server.address() as AddressInfo; // it listens on a port
  const transport = createHttpsTransport({
    endpoint: parseEndpoint(`127.0.0.1:${port}`),
    trust: fingerprintTrust(certificate.fingerprint),
  });
  open.push(transport);
  return transport;
}

function generated(sizeBytes: number, watch: { opened?: number; closed?: number } = {}): StreamBody {
  return {
    sizeBytes,
    async *open() {
      watch.opened = (watch.opened ?? 0) + 1;
      try {
        for (let left = sizeBytes; left > 0; left -= PIECE.byteLength)
          yield PIECE.subarray(0, Math.min(left, PIECE.byteLength));
      } finally {
        watch.closed = (watch.closed ?? 0) + 1;
      }
    },
  };
}

const upload = (body: StreamBody): WireRequest => ({ method: 'POST', target: '/upload', headers: {}, body });

async function thrownBy(sending: Promise<unknown>): Promise<unknown> {
  return sending.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('a stream as body', () => {
  it('arrives complete, with its length and not in chunks, and reports its progress', async () => {
    const hash = createHash('sha256');
    let headers: Record<string, unknown> = {};
    const transport = await connect((request, response) => {
      headers = request.headers;
      request.on('data', (chunk: Buffer) => hash.update(chunk));
      request.on('end', () => response.end('{"data":null}'));
    });
    const sent: number[] = [];
    const body = generated(3 * MiB + 17);
    const answer = await transport.send(upload(body), { onSent: (bytes) => sent.push(bytes) });
    const expected = createHash('sha256');
    for await (const chunk of body.open()) expected.update(chunk);
    expect(answer.status).toBe(200);
    expect(hash.digest('hex')).toBe(expected.digest('hex'));
    expect(headers).toMatchObject({ 'content-length': String(3 * MiB + 17), connection: 'close' });
    expect(headers['transfer-encoding']).toBeUndefined();
    expect(sent.at(-1)).toBe(3 * MiB + 17);
    expect(sent).toEqual([...sent].sort((a, b) => a - b));
  });

  it('of 200 MB keeps little of it in memory, however slow the server is', async () => {
    let receivedBytes = 0;
    const transport = await connect((request, response) => {
      request.on('data', (chunk: Buffer) => {
        receivedBytes += chunk.byteLength;
      });
      request.on('end', () => response.end('{}'));
    });
    const held: number[] = [];
    const before = process.memoryUsage();
    await transport.send(upload(generated(200 * MiB)), {
      onSent: (bytes) => {
        if (bytes % (8 * MiB) === 0) {
          const { heapUsed, arrayBuffers } = process.memoryUsage();
          held.push(heapUsed + arrayBuffers - before.heapUsed - before.arrayBuffers);
        }
      },
    });
    expect(receivedBytes).toBe(200 * MiB);
    expect(held.length).toBeGreaterThan(20);
    expect(Math.max(...held)).toBeLessThan(100 * MiB);
  });

  it('is not read further ahead than the server accepts it', async () => {
    let release = () => {};
    const transport = await connect((request, response) => {
      // The server does not read at first, so only the buffers of both ends can fill.
      request.pause();
      release = () => {
        request.resume();
        request.on('end', () => response.end('{}'));
      };
    });
    let yielded = 0;
    let stalled: () => void = () => {};
    const isStalled = new Promise<void>((resolve) => {
      stalled = resolve;
    });
    const body: StreamBody = {
      sizeBytes: 256 * MiB,
      async *open() {
        for (; yielded < 256 * MiB; yielded += PIECE.byteLength) yield PIECE;
      },
    };
    const sending = transport.send(upload(body));
    let seen = -1;
    const watch = () => {
      if (yielded > 0 && yielded === seen) stalled();
      else {
        seen = yielded;
        setTimeout(watch, 200);
      }
    };
    watch();
    await isStalled;
    expect(yielded).toBeLessThan(64 * MiB);
    release();
    expect((await sending).status).toBe(200);
    expect(yielded).toBe(256 * MiB);
  });

  it('starts again for each attempt', async () => {
    const transport = await connect((request, response) => {
      request.resume();
      request.on('end', () => response.end('{}'));
    });
    const watch = { opened: 0, closed: 0 };
    const body = generated(MiB, watch);
    await transport.send(upload(body));
    await transport.send(upload(body));
    expect(watch).toEqual({ opened: 2, closed: 2 });
  });

  it('ends as canceled when the signal fires, and closes its source', async () => {
    const transport = await connect((request) => request.resume());
    const stop = new AbortController();
    const watch = { opened: 0, closed: 0 };
    const sending = transport.send(upload(generated(64 * MiB, watch)), {
      signal: stop.signal,
      onSent: (bytes) => {
        if (bytes > MiB) stop.abort();
      },
    });
    expect(await thrownBy(sending)).toMatchObject({ code: 'CANCELED' });
    await expect.poll(() => watch.closed).toBe(1);
  });

  it('that is cut off may have been delivered', async () => {
    const transport = await connect((request) => request.once('data', () => request.socket.destroy()));
    const failure = await thrownBy(transport.send(upload(generated(64 * MiB))));
    expect(failure).toBeInstanceOf(TransportFailure);
    expect(failure).toMatchObject({ kind: 'cut', delivered: 'perhaps' });
  });

  it('that never reached a server was certainly not delivered', async () => {
    const transport = createHttpsTransport({
      endpoint: parseEndpoint('127.0.0.1:1'),
      trust: fingerprintTrust(certificate.fingerprint),
    });
    open.push(transport);
    const watch = { opened: 0, closed: 0 };
    expect(await thrownBy(transport.send(upload(generated(64 * MiB, watch))))).toMatchObject({ delivered: 'no' });
    await expect.poll(() => watch.closed).toBe(watch.opened);
  });

  it('stops at an early response, and returns that response', async () => {
    const transport = await connect((request, response) => {
      request.once('data', () => response.writeHead(403, 'Permission check failed').end('{"data":null}'));
    });
    const watch = { opened: 0, closed: 0 };
    const answer = await transport.send(upload(generated(256 * MiB, watch)));
    expect(answer).toMatchObject({ status: 403, reason: 'Permission check failed' });
    await expect.poll(() => watch.closed).toBe(1);
  });

  it.each([
    ['more', (bytes: number) => bytes - 1],
    ['less', (bytes: number) => bytes + 1],
  ])('with %s bytes than stated is an error of the file', async (_, stated) => {
    const transport = await connect((request) => request.resume());
    const body = { ...generated(MiB), sizeBytes: stated(MiB) };
    const error = await thrownBy(transport.send(upload(body)));
    expect(error).toMatchObject({ family: 'spec' });
    expect(error).toMatchObject({ code: 'UNREADABLE_FILE' });
  });

  it('rethrows the error of its source', async () => {
    const transport = await connect((request) => request.resume());
    const body: StreamBody = {
      sizeBytes: MiB,
      async *open() {
        yield PIECE;
        throw new Error('disk on fire');
      },
    };
    expect(await thrownBy(transport.send(upload(body)))).toMatchObject({ message: 'disk on fire' });
  });
});
