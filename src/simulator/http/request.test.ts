import { describe, expect, it } from 'vitest';
import { recordedRequests } from '../schema/testing/recorded-requests.ts';
import { type DecodedRequest, decodeRequest } from './request.ts';
import { plainResponse } from './response.ts';

const FORM = 'application/x-www-form-urlencoded';

function decode(method: string, target: string, body?: string, contentType?: string): DecodedRequest {
  return decodeRequest({
    method,
    target,
    headers: contentType === undefined ? {} : { 'content-type': contentType },
    ...(body === undefined ? {} : { body }),
  });
}

function paramsOf(decoded: DecodedRequest): unknown {
  return decoded.kind === 'call' ? decoded.params : decoded;
}

function faultOf(decoded: DecodedRequest): unknown {
  return 'fault' in decoded ? [decoded.kind, decoded.fault.status, decoded.fault.message] : decoded.kind;
}

describe('the path', () => {
  it('is decoded as a whole before it is split, and empty parts vanish', () => {
    const decoded = decode('GET', '/api2/json//nodes%2Fpve1/tasks/UPID%3Apve1%3A/?x=1');
    expect(decoded).toMatchObject({
      kind: 'call',
      format: 'json',
      target: { method: 'GET', segments: ['nodes', 'pve1', 'tasks', 'UPID:pve1:'] },
    });
  });

  it('keeps a plus sign and is shown unsplit', () => {
    expect(decode('GET', '/api2/json/pools/a+b/')).toMatchObject({
      target: { path: '/pools/a+b/', segments: ['pools', 'a+b'] },
    });
    expect(decode('GET', '/api2/json')).toMatchObject({ target: { path: '/', segments: [] } });
  });

  it.each([
    ['PATCH', '/api2/json/version', ['refusedAtOnce', 501, "method 'PATCH' not available"]],
    ['GET', '/api2', ['refusedAtOnce', 501, 'no such uri']],
    ['GET', '/api2/', ['refusedAtOnce', 501, 'no such uri']],
    ['GET', '/nothing', ['refusedAtOnce', 500, "no such file '/nothing'\n"]],
    ['GET', '/api2/xml/version', ['refusedAfterLogin', 501, 'no formatter for uri /version, xml']],
  ])('%s %s is refused', (method, target, expected) => {
    expect(faultOf(decode(method, target))).toEqual(expected);
  });
});

describe('parameters', () => {
  it('of a query are split at ampersands and semicolons, with only two pieces around the equals sign', () => {
    expect(paramsOf(decode('GET', '/api2/json/x?boot=order=scsi0;net0&a+b=c%2Bd+e&_dc=1'))).toEqual({
      boot: 'order',
      net0: null,
      'a b': 'c+d e',
    });
  });

  it('become a list if repeated', () => {
    expect(paramsOf(decode('GET', '/api2/json/x?a=1&a=2&a=3'))).toEqual({ a: ['1', '2', '3'] });
  });

  it('of the query override those of the body', () => {
    expect(paramsOf(decode('PUT', '/api2/json/x?a=query', 'a=body&b=%C3%BC', FORM))).toEqual({ a: 'query', b: 'ü' });
    expect(paramsOf(decode('POST', '/api2/json/x?a=query', '{"a":1,"c":true}', 'application/json'))).toEqual({
      a: 'query',
      c: true,
    });
  });

  it('need no content type', () => {
    expect(paramsOf(decode('POST', '/api2/json/x', 'a=1'))).toEqual({ a: '1' });
  });

  it('in JSON keep their types', () => {
    const body = '{"a":1,"b":"1","c":true,"d":null,"e":["x"],"f":{"g":1}}';
    expect(paramsOf(decode('PUT', '/api2/json/x', body, 'application/json; charset=utf-8'))).toEqual(JSON.parse(body));
    expect(paramsOf(decode('PUT', '/api2/json/x', 'null', 'application/json'))).toEqual({});
  });
});

describe('the body', () => {
  it.each([
    ['DELETE', 'purge=1', FORM, 501, "Unexpected content for method 'DELETE'"],
    ['GET', 'x', undefined, 501, "Unexpected content for method 'GET'"],
    ['PUT', 'x', 'text/plain; a=b', 506, "upload 'Content-Type 'text/plain; a=b' not implemented"],
    ['POST', 'x'.repeat(512 * 1024 + 1), FORM, 501, 'for data too large'],
    [
      'POST',
      '"text"',
      'application/json',
      500,
      `Can't use string ("text") as a HASH ref while "strict refs" in use at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 978.\n`,
    ],
  ])('%s %.10s as %s is refused after the login', (method, body, contentType, status, message) => {
    expect(faultOf(decode(method, '/api2/json/x', body, contentType))).toEqual(['refusedAfterLogin', status, message]);
  });

  it('may be half a MiB long', () => {
    expect(decode('POST', '/api2/json/x', 'x'.repeat(512 * 1024), FORM).kind).toBe('call');
  });

  it('in chunks is refused before the login', () => {
    const request = { method: 'PUT', target: '/api2/json/x', headers: { 'transfer-encoding': 'Chunked' }, body: 'a=1' };
    expect(faultOf(decodeRequest(request))).toEqual(['refusedAtOnce', 501, 'chunked transfer encoding not supported']);
  });

  it('of an upload that is not multipart gets no answer', () => {
    expect(decode('POST', '/api2/json/nodes/pve1/storage/local/upload', 'content=iso', FORM).kind).toBe('unanswered');
  });
});

describe('recorded answers without JSON', () => {
  const plain = recordedRequests().filter(({ request }) => 'fault' in decodeRequest(request));

  it('exist', () => {
    expect(plain.length).toBeGreaterThan(8);
  });

  it.each(plain.map((one) => [one.title, one] as const))('%s', (_, { request, answer }) => {
    const decoded = decodeRequest(request);
    if (!('fault' in decoded)) throw new Error('The request was accepted.');
    const response = plainResponse(decoded.fault, { nowMs: 0 });
    expect([response.status, response.reason, response.body || null]).toEqual([
      answer.status,
      answer.reason,
      answer.body,
    ]);
  });

  it('never answer a request that reached the router', () => {
    const early = recordedRequests().filter(
      ({ request, answer }) =>
        typeof answer.body === 'string' && answer.status >= 400 && decodeRequest(request).kind === 'call',
    );
    expect(early.map(({ title }) => title)).toEqual([]);
  });
});
