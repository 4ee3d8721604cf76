/** A small HTTPS server that serves one file, with ranges and validators, and can be configured to misbehave. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { testCertificate } from '../../pve/testing/tls-server.ts';

export interface FileServer {
  readonly url: string;
  readonly ca: string;
  content: Buffer;
  etag: string | undefined;
  hasRanges: boolean;
  /** The number of bytes after which each response is cut off, in order. */
  cuts: number[];
  /** Sent instead of the file. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  readonly requests: IncomingMessage[];
  close(): Promise<void>;
}

export async function startFileServer(content: Buffer): Promise<FileServer> {
  const { key, cert } = await testCertificate();
  const server = createServer({ key, cert });
  const file: FileServer = {
    url: '',
    ca: cert,
    content,
    etag: '"one"',
    hasRanges: true,
    cuts: [],
    answer: undefined,
    requests: [],
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  server.on('connection', (socket) => socket.on('error', () => {}));
  server.on('request', (request, response) => {
    file.requests.push(request);
    if (file.answer) return file.answer(request, response);
    serve(file, request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on a port
  return Object.assign(file, { url: `https://127.0.0.1:${port}/images/disk.raw` });
}

function serve(file: FileServer, request: IncomingMessage, response: ServerResponse): void {
  const { content, etag } = file;
  if (etag !== undefined && request.headers['if-none-match'] === etag) return void response.writeHead(304).end();
  const asked = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
  const mayResume = file.hasRanges && asked !== undefined && request.headers['if-range'] === etag;
  const start = mayResume ? Number(asked) : 0;
  const rest = content.subarray(start);
  response.writeHead(mayResume ? 206 : 200, {
    'content-length': rest.length,
    ...(etag !== undefined && { etag }),
    ...(mayResume && { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` }),
  });
  const cut = file.cuts.shift();
  if (cut === undefined) return void response.end(rest);
  response.write(rest.subarray(0, cut), () => request.socket.destroySoon());
}
