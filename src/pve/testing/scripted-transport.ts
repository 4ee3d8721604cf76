/** A `Transport` for tests: a function answers, and everything that was sent is kept. */
import type { Transport, WireRequest, WireResponse } from '../../base/transport.ts';

/** What the script says to a request: an answer, or a thrown `TransportFailure`. */
export type Script = (request: WireRequest, index: number) => WireResponse | Promise<WireResponse>;

export interface ScriptedTransport extends Transport {
  readonly requests: WireRequest[];
  /** Method and target of each request, without the common beginning of all targets. */
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

/** An error of the proxy or of the login, which has no body. */
export function bare(status: number, reason: string, body = ''): WireResponse {
  return { status, reason, headers: {}, body };
}

export const VERSION = { version: '9.2.11', release: '9.2', repoid: '14a22df35955d97d' };

/** Answers the login probe by itself, so that a script is about its subject alone. */
export function afterLogin(script: Script): Script {
  return (request, index) => (request.target === '/api2/json/version' ? ok(VERSION) : script(request, index));
}
