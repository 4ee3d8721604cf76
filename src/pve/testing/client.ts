/** A client on a scripted transport and a virtual clock, for tests. The transport records every request. */
import { ProxwrightError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import type { Transport, WireRequest, WireResponse } from '../../base/transport.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { createPve, type PveLimits } from '../client.ts';
import { type Credentials, parseToken } from '../http/credentials.ts';

export const TOKEN_SECRET = '11111111-2222-3333-4444-555555555555';

export function testClient(
  script: Script,
  options: { credentials?: Credentials; logger?: Logger; limits?: Partial<PveLimits>; rawLogin?: true } = {},
) {
  const clock = new VirtualClock();
  const transport = scriptedTransport(options.rawLogin ? script : afterLogin(script));
  const pve = createPve({
    transport,
    endpoint: 'https://pve.test:8006',
    credentials: options.credentials ?? parseToken(`deploy@pve!ci=${TOKEN_SECRET}`),
    clock,
    random: seededRandom(1),
    ...(options.logger && { logger: options.logger }),
    ...(options.limits && { limits: options.limits }),
  });
  return { clock, transport, pve };
}

/** The error with which `work` fails; any other outcome fails the test. */
export async function errorOf(clock: VirtualClock, work: () => Promise<unknown>): Promise<ProxwrightError> {
  const outcome = await clock.run(() =>
    work().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    ),
  );
  if ('error' in outcome && outcome.error instanceof ProxwrightError) return outcome.error;
  throw new Error(
    `expected a ProxwrightError, got ${JSON.stringify(outcome)} ${String('error' in outcome && outcome.error)}`,
  );
}

/** The response to a request, or a thrown `TransportFailure`. */
export type Script = (request: WireRequest, index: number) => WireResponse | Promise<WireResponse>;

export interface ScriptedTransport extends Transport {
  readonly requests: WireRequest[];
  /** Method and target of each request, without `/api2/json`. */
  lines(): string[];
}

export function scriptedTransport(script: Script): ScriptedTransport {
  const requests: WireRequest[] = [];
  return {
    requests,
    lines: () => requests.map((request) => `${request.method} ${request.target.replace('/api2/json', '')}`),
    send: async (request) => script(request, requests.push(request) - 1),
    close: async () => {},
  };
}

export function ok(data: unknown, extra: Record<string, unknown> = {}): WireResponse {
  return { status: 200, reason: 'OK', headers: {}, body: JSON.stringify({ data, ...extra }) };
}

/** An error as current servers send it: in the reason phrase and in the body. */
export function refused(status: number, message: string, errors?: Record<string, string>): WireResponse {
  const body = { data: null, message: `${message}\n`, ...(errors && { errors }) };
  return { status, reason: message.split('\n')[0] ?? '', headers: {}, body: JSON.stringify(body) };
}

/** An error of the proxy or of the login, which has no JSON body. */
export function bare(status: number, reason: string, body = ''): WireResponse {
  return { status, reason, headers: {}, body };
}

export const VERSION = { version: '9.2.11', release: '9.2', repoid: '14a22df35955d97d' };

/** Responds to the login request, so that a script contains only what its test is about. */
export function afterLogin(script: Script): Script {
  return (request, index) => (request.target === '/api2/json/version' ? ok(VERSION) : script(request, index));
}
