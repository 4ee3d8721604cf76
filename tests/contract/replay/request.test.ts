import { describe, expect, it } from 'vitest';
import { buildRequest } from './request.ts';

const text = (body: Uint8Array | string | undefined) => Buffer.from(body ?? '').toString('latin1');

describe('a recorded request', () => {
  it('puts parameters of GET and DELETE into the query and sends no body', () => {
    const request = buildRequest({ method: 'GET', path: '/version', params: { a: 'x y', b: [1, 2] } }, {});
    expect(request).toEqual({ method: 'GET', target: '/api2/json/version?a=x%20y&b=1&b=2', headers: {} });
    expect(buildRequest({ method: 'DELETE', path: '/x' }, {}).target).toBe('/api2/json/x');
  });

  it('puts parameters of POST and PUT into a form, and sends an empty one where there are none', () => {
    const request = buildRequest({ method: 'POST', path: '/x', params: { name: 'ü', kvm: 0 } }, { cookie: 'c' });
    expect(request.headers).toEqual({
      cookie: 'c',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': '17',
    });
    expect(request.body).toBe('name=%C3%BC&kvm=0');
    expect(buildRequest({ method: 'PUT', path: '/x' }, {}).headers['content-length']).toBe('0');
  });

  it('counts bytes, not characters', () => {
    const request = buildRequest({ method: 'PUT', path: '/x', encoding: 'json', params: { d: 'ü' } }, {});
    expect(request.body).toBe('{"d":"ü"}');
    expect(request.headers['content-length']).toBe('10');
  });

  it('announces chunks instead of a length when asked to', () => {
    const { headers } = buildRequest({ method: 'PUT', path: '/x', params: { a: 1 }, chunked: true }, {});
    expect(headers['transfer-encoding']).toBe('chunked');
    expect(headers['content-length']).toBeUndefined();
  });

  it('sends raw text with its own type, whatever the method', () => {
    const parts = { method: 'DELETE', path: '/x', encoding: 'raw', raw: 'purge=1', contentType: 'text/plain' } as const;
    const request = buildRequest(parts, {});
    expect(request.body).toBe('purge=1');
    expect(request.headers['content-type']).toBe('text/plain');
  });

  it('writes the parts of a multipart body in their order', () => {
    const request = buildRequest(
      {
        method: 'POST',
        path: '/x',
        encoding: 'multipart',
        parts: [
          { name: 'content', value: 'iso' },
          { name: 'filename', filename: 'a b.iso', fill: { size: 3, byte: 65 } },
        ],
      },
      {},
    );
    const boundary = /boundary=(.+)$/.exec(request.headers['content-type'] ?? '')?.[1];
    expect(text(request.body)).toBe(
      [
        `--${boundary}`,
        'Content-Disposition: form-data; name="content"',
        '',
        'iso',
        `--${boundary}`,
        'Content-Disposition: form-data; name="filename"; filename="a b.iso"',
        'Content-Type: application/octet-stream',
        '',
        'AAA',
        `--${boundary}--`,
        '',
      ].join('\r\n'),
    );
  });

  it('escapes a UPID inside a path', () => {
    const { target } = buildRequest({ method: 'GET', path: '/nodes/n/tasks/UPID:n:1:root@pam!t:/log?limit=0' }, {});
    expect(target).toBe('/api2/json/nodes/n/tasks/UPID%3An%3A1%3Aroot%40pam!t%3A/log?limit=0');
  });
});
