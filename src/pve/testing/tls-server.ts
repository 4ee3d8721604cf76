/** A small HTTPS server on the loopback address, with its own certificate, for tests of the real transport. */
import { X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { generate } from 'selfsigned';

export interface TestCertificate {
  readonly key: string;
  readonly cert: string;
  readonly fingerprint: string;
}

export async function testCertificate(
  host = '127.0.0.1',
  validity: { readonly notBeforeDate?: Date; readonly notAfterDate?: Date } = {},
): Promise<TestCertificate> {
  const extensions = [
    { name: 'basicConstraints' as const, cA: true },
    {
      name: 'subjectAltName' as const,
      altNames: [host === '127.0.0.1' ? { type: 7 as const, ip: host } : { type: 2 as const, value: host }],
    },
  ];
  const pems = await generate([{ name: 'commonName', value: host }], { keyType: 'ec', extensions, ...validity });
  return { key: pems.private, cert: pems.cert, fingerprint: new X509Certificate(pems.cert).fingerprint256 };
}

export interface TestServer {
  readonly port: number;
  readonly certificate: TestCertificate;
  /** Connections that completed the TLS handshake. */
  readonly connections: TLSSocket[];
  /** For each connection, whether its TLS session was resumed. */
  readonly resumed: boolean[];
  /** Requests, each with the number of its connection. */
  readonly requests: { readonly connection: number; readonly message: IncomingMessage; readonly body: string }[];
  close(): Promise<void>;
}

export async function startTestServer(
  certificate: TestCertificate,
  answer: (request: IncomingMessage, response: ServerResponse, index: number) => void,
): Promise<TestServer> {
  const connections: TLSSocket[] = [];
  const resumed: boolean[] = [];
  const requests: { connection: number; message: IncomingMessage; body: string }[] = [];
  const server = createServer({ key: certificate.key, cert: certificate.cert }, (message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk: Buffer) => chunks.push(chunk));
    message.on('end', () => {
      const connection = connections.indexOf(message.socket as TLSSocket);
      const index = requests.push({ connection, message, body: Buffer.concat(chunks).toString() }) - 1;
      answer(message, response, index);
    });
  });
  server.on('secureConnection', (socket) => {
    connections.push(socket);
    resumed.push(socket.isSessionReused());
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    certificate,
    connections,
    resumed,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of connections) socket.destroy();
      }),
  };
}
