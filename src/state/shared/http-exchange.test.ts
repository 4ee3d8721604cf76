import { createServer, type RequestListener, type Server } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { exchange } from './http-exchange.ts';

let server: Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  server = undefined;
});

async function serving(listener: RequestListener): Promise<URL> {
  server = createServer(listener);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  return new URL(`http://127.0.0.1:${typeof at === 'object' && at ? at.port : 0}/`);
}

const GET = { method: 'GET', headers: {} };

describe('an exchange with the server of a store', () => {
  it('reads an answer in parts, and one that was compressed although it asked for none', async () => {
    const url = await serving((request, response) => {
      if (request.url === '/parts') {
        response.write('first ');
        setImmediate(() => response.end('second'));
        return;
      }
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(request.headers['accept-encoding'] ?? ''));
    });
    expect((await exchange(new URL('/parts', url), GET)).body).toBe('first second');
    expect((await exchange(url, GET)).body).toBe('identity');
  });

  it('rejects an answer in an unknown encoding, and one that is damaged', async () => {
    const url = await serving((request, response) => {
      response.writeHead(200, { 'content-encoding': request.url === '/gzip' ? 'gzip' : 'br' }).end('plain');
    });
    await expect(exchange(url, GET)).rejects.toThrow('not asked for: br');
    await expect(exchange(new URL('/gzip', url), GET)).rejects.toThrow();
  });

  it('gives up on a server that never ends its answer', async () => {
    const url = await serving((_, response) => {
      const timer = setInterval(() => response.write('.'), 5);
      response.once('close', () => clearInterval(timer));
    });
    await expect(exchange(url, GET, 100)).rejects.toMatchObject({
      code: 'ETIMEDOUT',
      message: 'no complete answer within 0.1 s',
    });
  });

  it('rejects an answer that was cut', async () => {
    const url = await serving((request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setImmediate(() => request.socket.destroy());
    });
    await expect(exchange(url, GET)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });
});
