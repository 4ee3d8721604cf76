/** The whole client against hostile servers over real TLS: each case ends with an error that says what to do. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Clock } from '../../base/clock.ts';
import { formatDiagnostic } from '../../base/diagnostics.ts';
import { type ErrorCode, ProxwrightError } from '../../base/errors.ts';
import { createPve, type Pve } from '../client.ts';
import { isOutcomeUnknown } from '../errors/kinds.ts';
import { TOKEN_SECRET } from '../testing/client.ts';
import { startTestServer, type TestCertificate, type TestServer, testCertificate } from '../testing/tls-server.ts';
import { parseToken } from './credentials.ts';
import { caTrust, fingerprintTrust, parseEndpoint, type Trust } from './endpoint.ts';
import { createHttpsTransport, type HttpsTransportOptions } from './https-transport.ts';

const DAY_MS = 86_400_000;
/** Skips the pauses between attempts. */
const hastyClock: Clock = { now: () => Date.now(), ticks: () => performance.now(), sleep: async () => {} };

let certificate: TestCertificate;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  certificate = await testCertificate();
});

afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(behave: Behaviour, own = certificate): Promise<TestServer> {
  const server = await startTestServer(own, behave);
  open.push(server);
  return server;
}

function connect(
  { port }: TestServer,
  trust: Trust | undefined = fingerprintTrust(certificate.fingerprint),
  options: Partial<HttpsTransportOptions> = {},
): Pve {
  const endpoint = parseEndpoint(`127.0.0.1:${port}`);
  const transport = createHttpsTransport({ endpoint, trust, ...options });
  const credentials = parseToken(`deploy@pve!ci=${TOKEN_SECRET}`);
  const pve = createPve({ transport, endpoint: endpoint.url, credentials, clock: hastyClock });
  open.push(pve);
  return pve;
}

/** The error, after the checks that apply to all of them. */
async function errorOf(work: Promise<unknown>): Promise<ProxwrightError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ProxwrightError)) throw new Error(`expected one of our errors, got ${String(error)}`);
  const shown = formatDiagnostic(error.diagnostic);
  expect(error.diagnostic.hint?.text ?? '').not.toBe('');
  expect(shown).not.toMatch(/\n\s+at .*:\d+:\d+\)?$/m);
  expect(shown).not.toContain(TOKEN_SECRET);
  return error;
}

/** Sends bytes instead of a response, then closes the connection. */
const raw =
  (text: string): Behaviour =>
  ({ socket }) =>
    socket.end(text);

/** Sends one byte after another until the client gives up. */
function drip(socket: IncomingMessage['socket'], text: string): void {
  const timer = setInterval(() => socket.write(text), 5);
  socket.once('close', () => clearInterval(timer));
}

const VERSION = '{"data":{"version":"9.2.11","release":"9.2","repoid":"14a22df35955d97d"}}';
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

describe('a server', () => {
  it.each<[string, ErrorCode, Behaviour]>([
    ['that ends in the middle of its answer', 'UNREACHABLE', raw(`${HEAD}content-length: 500\r\n\r\n{"data":`)],
    ['whose length is too short', 'BAD_ANSWER', raw(`${HEAD}content-length: 20\r\n\r\n${VERSION}`)],
    ['whose length is no number', 'BAD_ANSWER', raw(`${HEAD}content-length: many\r\n\r\n${VERSION}`)],
    ['that gives two lengths', 'BAD_ANSWER', raw(`${HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\n{"a":1}`)],
    [
      'that gives a length and sends chunks',
      'BAD_ANSWER',
      raw(`${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`),
    ],
    [
      'that ends in the middle of a chunk',
      'UNREACHABLE',
      raw(`${HEAD}transfer-encoding: chunked\r\n\r\nff\r\n{"data"`),
    ],
    ['that sends an endless header', 'BAD_ANSWER', raw(`${HEAD}x-long: ${'x'.repeat(200_000)}\r\n\r\n`)],
    ['that sends ten thousand headers', 'BAD_ANSWER', raw(`${HEAD}${'x-many: 1\r\n'.repeat(10_000)}\r\n`)],
    ['that answers with a web page', 'BAD_ANSWER', (_, response) => response.end('<!DOCTYPE html><html></html>')],
    ['that answers with nothing', 'BAD_ANSWER', (_, response) => response.end()],
    ['that answers in another protocol', 'BAD_ANSWER', raw('SSH-2.0-OpenSSH_10.0\r\n')],
    ['that redirects', 'BAD_ANSWER', (_, response) => response.writeHead(302, { location: '/login' }).end()],
    ['that closes without a word', 'UNREACHABLE', ({ socket }) => socket.destroy()],
  ])('%s is reported as %s, with a hint', async (_, code, behave) => {
    const error = await errorOf(connect(await serve(behave)).authenticate());
    expect(error.code).toBe(code);
    expect(error.diagnostic.where?.request).toBe('GET /version');
  });

  it.each([
    ['its header', `${HEAD}x-long: `],
    ['its body', `${HEAD}content-length: 1000000\r\n\r\n`],
  ])('that drips %s byte by byte does not delay the client beyond its timeout', async (_, beginning) => {
    const server = await serve(({ socket }) => {
      socket.write(beginning);
      drip(socket, ' ');
    });
    const error = await errorOf(connect(server, undefined, { defaultTimeoutMs: 100 }).authenticate());
    expect(error.code).toBe('REQUEST_TIMEOUT');
  });

  it('that stalls during the response to a change leaves the outcome unknown, and receives the change once', async () => {
    const behave: Behaviour = (request, response) =>
      request.method === 'GET'
        ? response.end(VERSION)
        : raw(`${HEAD}content-length: 99\r\n\r\n{"da`)(request, response);
    const server = await serve(behave);
    const error = await errorOf(connect(server).node('pve1').vm(9000).clone({ newid: 100 }));
    expect(error.code).toBe('OUTCOME_UNKNOWN');
    expect(isOutcomeUnknown(error)).toBe(true);
    expect(server.requests.filter(({ message }) => message.method === 'POST')).toHaveLength(1);
  });
});

describe('a certificate', () => {
  const answer: Behaviour = (_, response) => response.end(VERSION);
  const expired = () =>
    testCertificate('127.0.0.1', {
      notBeforeDate: new Date(Date.now() - 30 * DAY_MS),
      notAfterDate: new Date(Date.now() - DAY_MS),
    });
  const early = () =>
    testCertificate('127.0.0.1', {
      notBeforeDate: new Date(Date.now() + DAY_MS),
      notAfterDate: new Date(Date.now() + 30 * DAY_MS),
    });

  it.each<[string, () => Promise<TestCertificate>, string]>([
    ['has expired', expired, 'it has expired'],
    ['is not valid yet', early, 'it is not valid yet'],
    ['is for another host', () => testCertificate('elsewhere.example'), 'it was issued for another host name'],
  ])(
    'that %s is rejected although its issuer is trusted, and the error shows the fingerprint',
    async (_, make, reason) => {
      const own = await make();
      const server = await serve(answer, own);
      const error = await errorOf(connect(server, caTrust(own.cert)).authenticate());
      expect(error.code).toBe('CERT_UNTRUSTED');
      expect(error.diagnostic.detail).toContain(`${reason}. Nothing was sent.`);
      expect(error.diagnostic.hint?.text).toContain(own.fingerprint);
      expect(server.requests).toHaveLength(0);
    },
  );

  it('with another fingerprint than the pinned one is rejected, and the error shows both', async () => {
    const server = await serve(answer);
    const pinned = (await testCertificate()).fingerprint;
    const error = await errorOf(connect(server, fingerprintTrust(pinned)).authenticate());
    expect(error.code).toBe('CERT_UNTRUSTED');
    expect(error.diagnostic.detail).toContain(`not the pinned ${pinned}`);
    expect(error.diagnostic.hint?.text).toContain(certificate.fingerprint);
    expect(server.requests).toHaveLength(0);
  });

  it('that is pinned may have expired', async () => {
    const own = await expired();
    const server = await serve(answer, own);
    const version = await connect(server, fingerprintTrust(own.fingerprint)).authenticate();
    expect(version.version).toBe('9.2.11');
  });
});
