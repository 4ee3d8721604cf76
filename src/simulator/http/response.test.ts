import { describe, expect, it } from 'vitest';
import {
  ApiFault,
  dieFault,
  faultResponse,
  loginRefusedResponse,
  notImplemented,
  paramFault,
  permFault,
  plainResponse,
  successResponse,
} from './response.ts';

const nowMs = Date.UTC(2026, 10, 15, 19, 12, 19);
const options = { nowMs };
const bodyOf = (response: { body: string }): unknown => JSON.parse(response.body);

describe('answers', () => {
  it('wrap a result in data and carry the headers of the server', () => {
    const response = successResponse({ a: 'ü' }, options);
    expect(response).toEqual({
      status: 200,
      reason: 'OK',
      headers: {
        'cache-control': 'max-age=0',
        connection: 'Keep-Alive',
        'content-length': '19',
        'content-type': 'application/json;charset=UTF-8',
        date: 'Sun, 15 Nov 2026 19:12:19 GMT',
        expires: 'Sun, 15 Nov 2026 19:12:19 GMT',
        pragma: 'no-cache',
        server: 'pve-api-daemon/3.0',
      },
      body: '{"data":{"a":"ü"}}',
    });
  });

  it('show null for no data, and a total only above zero', () => {
    expect(bodyOf(successResponse(undefined, options))).toEqual({ data: null });
    expect(bodyOf(successResponse([], { ...options, total: 0 }))).toEqual({ data: [] });
    expect(bodyOf(successResponse([1], { ...options, total: 9 }))).toEqual({ data: [1], total: 9 });
  });

  it('put the first line of a message into the reason phrase and close the connection', () => {
    const response = faultResponse(dieFault('first\nsecond'), options);
    expect([response.status, response.reason, response.headers.connection]).toEqual([500, 'first', 'close']);
    expect(bodyOf(response)).toEqual({ data: null, message: 'first\nsecond\n' });
  });

  it('list the errors by parameter', () => {
    const response = faultResponse(paramFault({ vmid: 'wrong' }), options);
    expect([response.status, response.reason]).toEqual([400, 'Parameter verification failed.']);
    expect(bodyOf(response)).toEqual({
      data: null,
      errors: { vmid: 'wrong' },
      message: 'Parameter verification failed.\n',
    });
  });

  it('name the missing privilege, or nothing', () => {
    expect(permFault('/vms/100, VM.Audit').message).toBe('Permission check failed (/vms/100, VM.Audit)\n');
    expect(permFault().message).toBe('Permission check failed\n');
  });

  it('end an unknown path without a line feed', () => {
    expect(bodyOf(faultResponse(notImplemented('GET', '/nosuch'), options))).toEqual({
      data: null,
      message: "Method 'GET /nosuch' not implemented",
    });
  });

  it('hide refusals behind a 200 in the format for browsers', () => {
    const response = faultResponse(paramFault({ a: 'b' }), { ...options, format: 'extjs' });
    expect([response.status, response.reason]).toEqual([200, 'OK']);
    expect(bodyOf(response)).toMatchObject({ success: 0, status: 400, errors: { a: 'b' } });
    expect(bodyOf(successResponse(1, { ...options, format: 'extjs' }))).toEqual({ data: 1, success: 1 });
  });

  it('have no body when the login failed', () => {
    const response = loginRefusedResponse('No ticket\n', options);
    expect([response.status, response.reason, response.body]).toEqual([401, 'No ticket', '']);
    expect(response.headers).not.toHaveProperty('content-length');
    expect(response.headers).not.toHaveProperty('content-type');
  });

  it('become an empty 400 when a carriage return would reach the status line', () => {
    const response = plainResponse({ status: 500, message: 'a\r\nb', hasBody: true }, options);
    expect([response.status, response.reason, response.body]).toEqual([400, 'Bad Request', '']);
  });
});

describe('a refusal inside a worker', () => {
  it('carries its status, except for a plain die, and no line feeds', () => {
    expect(permFault('/vms/1, VM.Audit').asTaskError()).toBe('403 Permission check failed (/vms/1, VM.Audit)');
    expect(dieFault('one\ntwo').asTaskError()).toBe('one two');
    expect(paramFault({ net0: 'hotplug problem' }).asTaskError()).toBe(
      '400 Parameter verification failed. net0: hotplug problem',
    );
    expect(new ApiFault(501, 'no line feed').asTaskError()).toBe('501 no line feed');
  });
});
