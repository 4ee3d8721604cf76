import { createHash } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { httpsTransport } from './https-transport.ts';

describe('the HTTPS transport of the contract tests', () => {
  const seen: { method: string | undefined; url: string | undefined; chunked: boolean; body: string }[] = [];
  let server: ReturnType<typeof createServer>;
  let endpoint = '';
  let certificate = '';

  beforeAll(async () => {
    const pair = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 2048 });
    certificate = pair.cert;
    server = createServer({ key: pair.private, cert: pair.cert }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const chunked = request.headers['transfer-encoding'] === 'chunked';
        seen.push({ method: request.method, url: request.url, chunked, body: Buffer.concat(chunks).toString() });
        response.writeHead(500, "no such VM ('4711')", { 'content-type': 'application/json' });
        response.end('{"data":null}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}`; // listening on a port, not a pipe
  });

  afterAll(() => new Promise((resolve) => server.close(resolve)));

  const fingerprint = () => {
    const raw = Buffer.from(certificate.replace(/-----[A-Z ]+-----|\s/g, ''), 'base64');
    return createHash('sha256')
      .update(raw)
      .digest('hex')
      .toUpperCase()
      .replace(/..(?!$)/g, '$&:');
  };

  it('carries method, target, chunks and body there, and status, reason and body back', async () => {
    seen.length = 0;
    const transport = httpsTransport(endpoint, { fingerprint: fingerprint() });
    const headers = { 'transfer-encoding': 'chunked', 'content-type': 'text/plain' };
    const response = await transport.send({ method: 'PUT', target: '/api2/json/x?a=1', headers, body: 'ü' });
    expect(seen).toEqual([{ method: 'PUT', url: '/api2/json/x?a=1', chunked: true, body: 'ü' }]);
    expect(response).toMatchObject({ status: 500, reason: "no such VM ('4711')", body: '{"data":null}' });
    expect(response.headers['content-type']).toBe('application/json');
  });

  it('sends nothing to a server with another fingerprint', async () => {
    seen.length = 0;
    const transport = httpsTransport(endpoint, { fingerprint: 'AA:BB' });
    await expect(transport.send({ method: 'GET', target: '/', headers: {} })).rejects.toThrow(/fingerprint/);
    expect(seen).toEqual([]);
  });

  it('sends nothing to a server whose authority it does not trust', async () => {
    seen.length = 0;
    const other = await generate([{ name: 'commonName', value: 'other' }], { keySize: 2048 });
    const transport = httpsTransport(endpoint, { ca: other.cert });
    await expect(transport.send({ method: 'GET', target: '/', headers: {} })).rejects.toThrow();
    expect(seen).toEqual([]);
  });
});
