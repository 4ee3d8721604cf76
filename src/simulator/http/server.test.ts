/** The server over real TLS on the loopback address, queried by Node's own client. */
import { Agent, type RequestOptions, request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import { seededRandom } from '../../base/random.ts';
import { TransportFailure, type WireRequest, type WireResponse } from '../../base/transport.ts';
import { createSimulator, type Simulator } from '../core/simulator.ts';
import { buildWorld } from '../world/build-world.ts';
import { RECORDED_WORLD } from '../world/recorded-world.ts';
import { type SimulatorServer, serveSimulator } from './server.ts';

const TOKEN = 'PVEAPIToken=root@pam!test=00000000-0000-4000-8000-000000000001';
const running: SimulatorServer[] = [];

afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.close()));
});

function recorded(): Simulator {
  return createSimulator({
    world: buildWorld(RECORDED_WORLD, { now: systemClock.now() }),
    clock: systemClock,
    random: seededRandom('server'),
  });
}

async function start(handle?: (request: WireRequest) => Promise<WireResponse>): Promise<SimulatorServer> {
  const simulator = recorded();
  if (handle) simulator.handle = handle;
  const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
  running.push(server);
  return server;
}

interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

function ask(server: SimulatorServer, path: string, options: RequestOptions & { body?: string } = {}): Promise<Answer> {
  const { body, ...rest } = options;
  return new Promise((resolve, reject) => {
    const sent = request(
      `${server.endpoint}/api2/json${path}`,
      { ca: server.certificate, agent: false, ...rest, headers: { authorization: TOKEN, ...rest.headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            reason: response.statusMessage ?? '',
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Sends bytes and reads to the end of the connection. */
function exchangeBytes(server: SimulatorServer, bytes: string, isTls = true): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = isTls
      ? connectTls({ port: server.port, host: '127.0.0.1', ca: server.certificate })
      : connectTcp({ port: server.port, host: '127.0.0.1' });
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
    socket.write(bytes);
  });
}

const plain = (status: number, reason: string): WireResponse => ({
  status,
  reason,
  headers: { connection: status >= 400 ? 'close' : 'Keep-Alive', 'content-length': '2' },
  body: '{}',
});

describe('the HTTPS server', () => {
  it('answers a token whose owner trusts the certificate by authority', async () => {
    const answer = await ask(await start(), '/version');
    expect(answer).toMatchObject({ status: 200, reason: 'OK' });
    expect(JSON.parse(answer.body)).toMatchObject({ data: { version: '9.2.11' } });
    expect(answer.headers.server).toBe('pve-api-daemon/3.0');
  });

  it('states the fingerprint of the certificate it presents', async () => {
    const server = await start();
    const socket: TLSSocket = await new Promise((resolve) => {
      const opened = connectTls({ port: server.port, host: '127.0.0.1', ca: server.certificate }, () =>
        resolve(opened),
      );
    });
    expect(socket.getPeerCertificate().fingerprint256).toBe(server.fingerprint);
    socket.destroy();
  });

  it('puts the first line of the message into the reason phrase', async () => {
    const answer = await ask(await start(), '/nodes/pve1/qemu/777/config');
    const message = "Configuration file 'nodes/pve1/qemu-server/777.conf' does not exist";
    expect(answer).toMatchObject({ status: 500, reason: message });
    expect(JSON.parse(answer.body)).toEqual({ data: null, message: `${message}\n` });
  });

  it.each([595, 596])('passes status %i on', async (status) => {
    const server = await start(async () => plain(status, 'Connection timed out'));
    expect(await ask(server, '/version')).toMatchObject({ status, reason: 'Connection timed out' });
  });

  it('sends a reason phrase beyond ASCII as UTF-8 bytes', async () => {
    const server = await start(async () => plain(500, 'größe\tfehlt\u0007'));
    const { reason } = await ask(server, '/version');
    expect(Buffer.from(reason, 'latin1').toString()).toBe('größe\tfehlt ');
  });

  it('keeps a connection after success and closes it after a refusal', async () => {
    const server = await start();
    expect((await ask(server, '/version')).headers.connection).toBe('Keep-Alive');
    const bytes = await exchangeBytes(
      server,
      `GET /api2/json/nope HTTP/1.1\r\nhost: x\r\nauthorization: ${TOKEN}\r\n\r\n`,
    );
    expect(bytes).toMatch(/^HTTP\/1\.1 501 Method 'GET \/nope' not implemented\r\n/);
    expect(bytes).toContain('connection: close');
  });

  it('closes a connection after its hundredth request', async () => {
    const server = await start();
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: server.certificate });
    const connections: (string | undefined)[] = [];
    for (let count = 0; count < 101; count++) {
      const { headers } = await ask(server, '/version', { agent });
      connections.push([headers.connection].flat()[0]);
    }
    agent.destroy();
    expect(connections.indexOf('close')).toBe(99);
    expect(connections[100]).toBe('Keep-Alive');
  });

  it('cuts the connection without a byte if the simulator gives no answer', async () => {
    const server = await start(async () => {
      throw new TransportFailure({ kind: 'cut', delivered: 'perhaps', message: 'cut' });
    });
    await expect(ask(server, '/version')).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('hands over method, target, headers and body as they were sent', async () => {
    const seen: WireRequest[] = [];
    const server = await start(async (wire) => {
      seen.push(wire);
      return plain(200, 'OK');
    });
    const headers = { 'X-Custom': 'A b', 'content-type': 'application/x-www-form-urlencoded' };
    await ask(server, '/nodes/a%20b?x=%2F', { method: 'PUT', headers, body: 'name=%C3%A4' });
    expect(seen[0]).toMatchObject({ method: 'PUT', target: '/api2/json/nodes/a%20b?x=%2F' });
    expect(seen[0]?.headers).toMatchObject({ 'x-custom': 'A b', authorization: TOKEN });
    expect(String(seen[0]?.body)).toBe('name=%C3%A4');
  });

  it('lets chunked bodies be refused', async () => {
    const server = await start();
    const answer = await ask(server, '/access/ticket', {
      method: 'POST',
      headers: { 'transfer-encoding': 'chunked' },
      body: 'username=root@pam',
    });
    expect(answer).toMatchObject({ status: 501, reason: 'chunked transfer encoding not supported' });
  });

  it.each(['BREW', 'HEAD', 'PATCH'])('refuses the method %s with a message', async (method) => {
    const bytes = await exchangeBytes(
      await start(),
      `${method} /api2/json/version HTTP/1.1\r\nhost: x\r\nauthorization: ${TOKEN}\r\n\r\n`,
    );
    expect(bytes).toMatch(new RegExp(`^HTTP/1\\.1 501 method '${method}' not available\\r\\n`));
  });

  it('drops a request with too many or too long headers without an answer', async () => {
    const server = await start();
    const lines = Array.from({ length: 64 }, (_, index) => `x-${index}: 1\r\n`).join('');
    const start0 = 'GET /api2/json/version HTTP/1.1\r\nhost: x\r\n';
    await expect(exchangeBytes(server, `${start0}${lines}\r\n`)).resolves.toBe('');
    await expect(exchangeBytes(server, `${start0}x-long: ${'a'.repeat(9000)}\r\n\r\n`)).resolves.toBe('');
  });

  it('redirects plain HTTP to HTTPS', async () => {
    const server = await start();
    const target = '/api2/json/version?a=1';
    const get = await exchangeBytes(server, `GET ${target} HTTP/1.1\r\nHost: pve.lab:8006\r\n\r\n`, false);
    expect(get).toMatch(
      /^HTTP\/1\.1 301 Moved Permanently\r\nLocation: https:\/\/pve\.lab:8006\/api2\/json\/version\?a=1\r\n/,
    );
    const post = await exchangeBytes(server, `POST ${target} HTTP/1.1\r\nHost: pve.lab:8006\r\n\r\n`, false);
    expect(post).toMatch(/^HTTP\/1\.1 308 Permanent Redirect\r\n/);
  });

  it('ends idle connections and cuts unanswered ones when it is closed', async () => {
    const server = await start(() => new Promise(() => {}));
    const idle = exchangeBytes(server, '');
    const unanswered = ask(server, '/version');
    const outcomes = Promise.allSettled([idle, unanswered]);
    await server.close();
    expect((await outcomes)[1]).toMatchObject({ status: 'rejected' });
    await expect(ask(server, '/version')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('reports a port that is in use', async () => {
    const { port } = await start();
    const simulator = createSimulator({
      world: buildWorld(RECORDED_WORLD, { now: 0 }),
      clock: systemClock,
      random: seededRandom(1),
    });
    await expect(serveSimulator(simulator, { host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('accepts an upload of any size and reports what arrived', async () => {
    const server = await start();
    const content = Buffer.alloc(24 * 1024 * 1024, 'large');
    const frame = uploadFrame();
    const answer = await sendUpload(server, [frame.head, content, frame.tail], frame.headBytes + content.length);
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).toContain(':imgcopy:');
  });

  it('forgets an upload whose client goes away', async () => {
    const handled: Promise<unknown>[] = [];
    const simulator = recorded();
    const original = simulator.handle.bind(simulator);
    const server = await start((request) => {
      const answer = original(request);
      handled.push(answer.catch((error: unknown) => error));
      return answer;
    });
    const frame = uploadFrame();
    const sent = sendUpload(server, [frame.head, Buffer.alloc(2 * 1024 * 1024)], 100 * 1024 * 1024, {
      thenLeaves: true,
    });
    await expect(sent).rejects.toThrow();
    await expect.poll(() => handled.length).toBe(1);
    expect(await handled[0]).toMatchObject({ name: 'TransportFailure', message: 'the client went away' });
    expect(simulator.world.tasks.size).toBe(0);
  });
});

function uploadFrame() {
  const part = (name: string) => `--b\r\nContent-Disposition: form-data; name="${name}"`;
  const head = Buffer.from(`${part('content')}\r\n\r\niso\r\n${part('filename')}; filename="x.iso"\r\n\r\n`);
  const tail = Buffer.from('\r\n--b--\r\n');
  return { head, tail, headBytes: head.length + tail.length };
}

function sendUpload(
  server: SimulatorServer,
  pieces: readonly Uint8Array[],
  sizeBytes: number,
  options: { readonly thenLeaves?: boolean } = {},
): Promise<{ readonly status: number; readonly body: string }> {
  return new Promise((resolve, reject) => {
    const sending = request(
      `${server.endpoint}/api2/json/nodes/pve1/storage/local/upload`,
      {
        method: 'POST',
        ca: server.certificate,
        headers: {
          authorization: TOKEN,
          'content-type': 'multipart/form-data; boundary=b',
          'content-length': String(sizeBytes),
        },
      },
      (answer) => {
        let body = '';
        answer.on('data', (chunk: Buffer) => {
          body += chunk.toString();
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
      },
    );
    sending.on('error', reject);
    for (const piece of pieces.slice(0, -1)) sending.write(piece);
    const last = pieces.at(-1) ?? new Uint8Array();
    if (options.thenLeaves) sending.write(last, () => sending.destroy(new Error('the client left')));
    else sending.end(last);
  });
}
