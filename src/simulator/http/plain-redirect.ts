/** Plain HTTP on the TLS port: browsers and curl are sent to https, as pveproxy does it. */
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { parseHead } from './wire-message.ts';

/** The first byte of every TLS connection: a handshake record. */
const TLS_HANDSHAKE = 0x16;

/** Puts a look at the first bytes in front of the TLS handshake. */
export function serveRedirects(server: Server, firstByteWithinMs: number): void {
  const startTls = server.listeners('connection');
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    socket.setTimeout(firstByteWithinMs, () => socket.destroy());
    socket.once('readable', () => {
      const first: unknown = socket.read();
      if (!(first instanceof Buffer) || first.length === 0) return void socket.destroy();
      socket.setTimeout(0);
      socket.removeAllListeners('timeout');
      if (first[0] !== TLS_HANDSHAKE) return redirect(socket, first);
      socket.unshift(first);
      for (const listener of startTls) listener.call(server, socket);
    });
  });
}

/** Rule [source HS AnyEvent.pm ensure_tls_connection]: 301 where a repeated GET is harmless, 308 otherwise, then the end. */
function redirect(socket: Socket, first: Buffer): void {
  const request = parseHead(first);
  const host = request?.headers.host;
  if (!request || host === undefined) return void socket.destroy();
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const status = isRead ? '301 Moved Permanently' : '308 Permanent Redirect';
  socket.end(`HTTP/1.1 ${status}\r\nLocation: https://${host}${request.target}\r\nConnection: close\r\n\r\n`);
}
