import { createServer as createPlainServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';

import { type Transport, TransportFailure, type WireRequest } from '../../base/transport.ts';
import { startTestServer, type TestCertificate, type TestServer, testCertificate } from '../testing/tls-server.ts';
import { IDLE_MS, REQUESTS_PER_CONNECTION } from './connection-agent.ts';
import { caTrust, fingerprintTrust, parseEndpoint, type Trust } from './endpoint.ts';
import { createHttpsTransport, type HttpsTransportOptions } from './https-transport.ts';

let certificate: TestCertificate;
let stranger: TestCertificate;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  certificate = await testCertificate();
  stranger = await testCertificate();
});

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

const GET: WireRequest = {
  method: 'GET',
  target: '/api2/json/version',
  headers: { authorization: 'PVEAPIToken=a@b!c=d' },
};

async function serve(answer: Parameters<typeof startTestServer>[1]): Promise<TestServer> {
  const server = await startTestServer(certificate, answer);
  open.push(server);
  return server;
}

function connect(port: number, options: Partial<HttpsTransportOptions> = {}): Transport {
  const transport = createHttpsTransport({
    endpoint: parseEndpoint(`127.0.0.1:${port}`),
    trust: fingerprintTrust(certificate.fingerprint),
    // A connection stays open between two requests, however long a busy machine takes for the second.
    idleMs: 600_000,
    connectTimeoutMs: 600_000,
    ...options,
  });
  open.push(transport);
  return transport;
}

async function failureOf(sending: Promise<unknown>): Promise<TransportFailure> {
  const thrown = await sending.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(TransportFailure);
  return thrown as TransportFailure;
}

describe('an exchange', () => {
  it('sends nothing, on a new connection or an open one, if it is stopped right before', async () => {
    const server = await serve((_message, response) => response.end('{}'));
    const transport = connect(server.port);
    const stopped = () =>
      transport.send(GET, {
        beforeSend: () => {
          throw new Error('too late');
        },
      });
    await expect(stopped()).rejects.toThrow('too late');
    await transport.send(GET);
    await expect(stopped()).rejects.toThrow('too late');
    await transport.send(GET);
    expect(server.requests).toHaveLength(2);
  });

  it('passes on status, reason phrase, headers and body', async () => {
    const server = await serve((_, response) => {
      response.writeHead(500, 'VM is locked (clone)', { 'content-type': 'application/json', 'x-a': ['1', '2'] });
      response.end('{"data":null,"message":"Zustand: gesperrt – ü\\n"}');
    });
    const answer = await connect(server.port).send(GET);
    expect(answer).toMatchObject({
      status: 500,
      reason: 'VM is locked (clone)',
      headers: { 'content-type': 'application/json', 'x-a': '1, 2' },
      body: '{"data":null,"message":"Zustand: gesperrt – ü\\n"}',
    });
  });

  it('accepts non-standard status codes', async () => {
    const server = await serve((_, response) => response.writeHead(596, 'Connection timed out').end());
    expect(await connect(server.port).send(GET)).toMatchObject({
      status: 596,
      reason: 'Connection timed out',
      body: '',
    });
  });

  it('states the length of every body, even an empty one, and never sends chunks', async () => {
    const server = await serve((_, response) => response.end('{}'));
    const transport = connect(server.port);
    await transport.send({ method: 'POST', target: '/a', headers: {}, body: 'x=ü' });
    await transport.send({ method: 'PUT', target: '/b', headers: {} });
    await transport.send({ method: 'POST', target: '/c', headers: {}, body: new Uint8Array([1, 2, 3]) });
    await transport.send({ method: 'DELETE', target: '/d?purge=1', headers: {} });
    expect(server.requests.map(({ message }) => message.headers['content-length'])).toEqual(['4', '0', '3', undefined]);
    expect(server.requests.every(({ message }) => message.headers['transfer-encoding'] === undefined)).toBe(true);
    expect(server.requests[0]?.body).toBe('x=ü');
  });

  it('does not follow redirects', async () => {
    const server = await serve((_, response) => response.writeHead(301, { location: 'https://127.0.0.1:1/' }).end());
    expect((await connect(server.port).send(GET)).status).toBe(301);
    expect(server.requests).toHaveLength(1);
  });
});

describe('trust', () => {
  const cases: [string, () => Trust][] = [
    ['the right fingerprint', () => fingerprintTrust(certificate.fingerprint.toLowerCase().replaceAll(':', ''))],
    ['the right CA', () => caTrust(certificate.cert)],
  ];
  it.each(cases)('is given for %s', async (_, trust) => {
    const server = await serve((_request, response) => response.end('{}'));
    expect((await connect(server.port, { trust: trust() }).send(GET)).status).toBe(200);
  });

  const wrong: [string, () => Trust | undefined][] = [
    ['another fingerprint', () => fingerprintTrust(stranger.fingerprint)],
    ['another CA', () => caTrust(stranger.cert)],
    ['the system roots alone', () => undefined],
  ];
  it.each(wrong)(
    'is refused for %s, naming the fingerprint, before a byte of the request is sent',
    async (_, trust) => {
      const server = await serve((_request, response) => response.end('{}'));
      const failure = await failureOf(connect(server.port, { trust: trust() }).send(GET));
      expect(failure).toMatchObject({ kind: 'certificate', delivered: 'no', fingerprint: certificate.fingerprint });
      expect(server.requests).toHaveLength(0);
    },
  );

  it('is denied if the certificate is for another host, even from the right CA', async () => {
    const elsewhere = await testCertificate('elsewhere.example');
    const server = await startTestServer(elsewhere, (_, response) => response.end('{}'));
    open.push(server);
    const failure = await failureOf(connect(server.port, { trust: caTrust(elsewhere.cert) }).send(GET));
    expect(failure).toMatchObject({ kind: 'certificate', message: 'it was issued for another host name' });
  });

  it('verifies every connection and resumes no TLS session, which would have no certificate', async () => {
    const server = await serve((_, response) => response.writeHead(500, 'x').end());
    const transport = connect(server.port);
    for (let i = 0; i < 4; i++) expect((await transport.send(GET)).status).toBe(500);
    expect(server.connections).toHaveLength(4);
    expect(server.resumed).toEqual([false, false, false, false]);
  });
});

describe('connections', () => {
  it('are reused after successful responses', async () => {
    const server = await serve((_, response) => response.end('{}'));
    const transport = connect(server.port);
    for (let i = 0; i < 5; i++) await transport.send(GET);
    expect(server.connections).toHaveLength(1);
  });

  it('are closed after a response of 400 or above', async () => {
    const server = await serve((_, response, index) => response.writeHead(index === 1 ? 400 : 200).end('{}'));
    const transport = connect(server.port);
    for (let i = 0; i < 4; i++) await transport.send(GET);
    expect(server.requests.map(({ connection }) => connection)).toEqual([0, 0, 1, 1]);
  });

  it('are closed before the hundredth request', async () => {
    const server = await serve((_, response) => response.end('{}'));
    const transport = connect(server.port);
    for (let i = 0; i < REQUESTS_PER_CONNECTION + 1; i++) await transport.send(GET);
    expect(REQUESTS_PER_CONNECTION).toBeLessThan(100);
    expect(server.connections).toHaveLength(2);
    expect(server.requests.filter(({ connection }) => connection === 0)).toHaveLength(REQUESTS_PER_CONNECTION);
  });

  it('are closed when idle, before the server does so after 5 s', async () => {
    const server = await serve((_, response) => response.end('{}'));
    const transport = connect(server.port, { idleMs: 20 });
    await transport.send(GET);
    const [first] = server.connections;
    await new Promise((resolve) => (first?.destroyed ? resolve(undefined) : first?.once('close', resolve)));
    await transport.send(GET);
    expect(server.connections).toHaveLength(2);
    expect(IDLE_MS).toBeLessThan(5_000);
  });

  it('never exceed their limit, however many requests wait', async () => {
    const server = await serve((_, response) => setTimeout(() => response.end('{}'), 5));
    const transport = connect(server.port, { maxConnections: 3 });
    await Promise.all(Array.from({ length: 20 }, () => transport.send(GET)));
    expect(server.requests).toHaveLength(20);
    expect(server.connections).toHaveLength(3);
  });
});

describe('no response', () => {
  it('from a closed port means that the request was certainly not delivered', async () => {
    const server = await serve(() => {});
    await server.close();
    expect(await failureOf(connect(server.port).send(GET))).toMatchObject({ kind: 'connect', delivered: 'no' });
  });

  it('from a host that does not exist was certainly not delivered', async () => {
    const endpoint = parseEndpoint('no-such-host.invalid');
    expect(await failureOf(connect(1, { endpoint }).send(GET))).toMatchObject({ kind: 'connect', delivered: 'no' });
  });

  it('from a server without TLS was certainly not delivered', async () => {
    const plain: Server = createPlainServer((_, response) => response.end('hello'));
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    open.push({ close: () => new Promise((resolve) => plain.close(() => resolve())) });
    const failure = await failureOf(connect((plain.address() as AddressInfo).port).send(GET));
    expect(failure).toMatchObject({ kind: 'connect', delivered: 'no' });
  });

  it('from a server that never ends the handshake was certainly not delivered', async () => {
    const mute = createTcpServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const transport = connect((mute.address() as AddressInfo).port, { connectTimeoutMs: 50 });
    open.push({ close: () => new Promise((resolve) => mute.close(() => resolve())) });
    expect(await failureOf(transport.send(GET))).toMatchObject({ kind: 'timeout', delivered: 'no' });
  });

  it('from a server that cuts the connection after the request may have been delivered', async () => {
    const server = await serve((request) => request.socket.destroy());
    expect(await failureOf(connect(server.port).send(GET))).toMatchObject({ kind: 'cut', delivered: 'perhaps' });
  });

  it('from a reused connection that dies under the request may have been delivered, and is not sent twice', async () => {
    const server = await serve((request, response, index) =>
      index === 0 ? response.end('{}') : request.socket.destroy(),
    );
    const transport = connect(server.port);
    await transport.send(GET);
    const post: WireRequest = { method: 'POST', target: '/x', headers: {}, body: 'a=1' };
    expect(await failureOf(transport.send(post))).toMatchObject({ kind: 'cut', delivered: 'perhaps' });
    expect(server.requests).toHaveLength(2);
  });

  it('is complete if the body is cut off', async () => {
    const server = await serve((request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"data":', () => request.socket.destroy());
    });
    expect(await failureOf(connect(server.port).send(GET))).toMatchObject({ kind: 'cut', delivered: 'perhaps' });
  });

  it('within the timeout is a timeout', async () => {
    const server = await serve(() => {});
    const failure = await failureOf(connect(server.port).send(GET, { timeoutMs: 50 }));
    expect(failure).toMatchObject({ kind: 'timeout', delivered: 'perhaps' });
  });

  it('that ends within the timeout is a timeout, although it has started', async () => {
    const server = await serve((_, response) => response.writeHead(200).write('{'));
    expect(await failureOf(connect(server.port).send(GET, { timeoutMs: 50 }))).toMatchObject({ kind: 'timeout' });
  });

  it('that is HTTP is malformed', async () => {
    const server = await serve((request) => request.socket.end('HELO mail.example\r\n\r\n'));
    expect(await failureOf(connect(server.port).send(GET))).toMatchObject({ kind: 'malformed', delivered: 'perhaps' });
  });

  it('of a sane size is malformed, and is not collected', async () => {
    const server = await serve((_, response) => response.end('x'.repeat(5000)));
    const failure = await failureOf(connect(server.port, { maxBodyBytes: 1000 }).send(GET));
    expect(failure).toMatchObject({ kind: 'malformed', message: 'the answer is larger than 1000 bytes' });
  });
});

describe('a request that was given up', () => {
  const DELETE: WireRequest = { method: 'DELETE', target: '/api2/json/nodes/pve1/qemu/401', headers: {} };

  it.each([
    ['because no answer came in time', () => ({ timeoutMs: 50 })],
    ['because the run was canceled', () => ({ signal: AbortSignal.timeout(50) })],
  ])('%s resets its connection, so that no byte of it is delivered later', async (_, options) => {
    const server = await serve((_request, response, index) => index === 0 && response.end('{}'));
    const transport = connect(server.port);
    await transport.send(GET);
    const [socket] = server.connections;
    const ending = new Promise((resolve) => socket?.once('error', resolve).once('end', () => resolve('a clean end')));
    await expect(transport.send(DELETE, options())).rejects.toThrow();
    // Before a clean end, the kernel would deliver what it still holds.
    expect(await ending).toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('cancellation', () => {
  it('ends a pending request', async () => {
    const stop = new AbortController();
    const server = await serve(() => stop.abort());
    await expect(connect(server.port).send(GET, { signal: stop.signal })).rejects.toMatchObject({ code: 'CANCELED' });
  });

  it('before the start sends nothing', async () => {
    const server = await serve((_, response) => response.end('{}'));
    await expect(connect(server.port).send(GET, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'CANCELED',
    });
    expect(server.connections).toHaveLength(0);
  });
});
