/** Where the host reaches the provider: a socket in a private directory, or a local port on Windows. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Address, HandshakeRequest } from './handshake.ts';

export interface Listener extends Address {
  readonly server: Server;
  /** Removes the socket and its directory. Safe to call at any time, and twice. */
  removeFiles(): void;
}

/** What the strictest operating system allows for the path of a socket, without its final zero byte. */
const PATH_BYTES_LIMIT = 103;

export async function listen(
  request: Pick<HandshakeRequest, 'socketDirectory' | 'ports'>,
  platform: NodeJS.Platform,
  onConnection: (socket: Socket) => void,
): Promise<Listener> {
  const server = createServer(onConnection);
  return platform === 'win32' ? listenOnPort(server, request.ports) : listenOnSocket(server, request.socketDirectory);
}

async function listenOnSocket(server: Server, parent: string | undefined): Promise<Listener> {
  const directory = makeDirectory(parent === undefined ? [tmpdir(), '/tmp'] : [parent]);
  const address = join(directory, 's');
  const removeFiles = () => rmSync(directory, { recursive: true, force: true });
  try {
    await bound(server, { path: address });
  } catch (error) {
    removeFiles();
    throw error;
  }
  return { network: 'unix', address, server, removeFiles };
}

/** `mkdtemp` creates it with mode 0700: only its owner may enter, which protects the socket. */
function makeDirectory(parents: readonly string[]): string {
  const isShort = (parent: string) => Buffer.byteLength(join(parent, 'pw-XXXXXX', 's')) <= PATH_BYTES_LIMIT;
  const parent = parents.find(isShort);
  if (parent === undefined)
    throw new Error(`The path ${parents[0]} is too long for a socket. Set TMPDIR to a shorter path.`);
  return mkdtempSync(join(parent, 'pw-'));
}

async function listenOnPort(server: Server, { min, max }: HandshakeRequest['ports']): Promise<Listener> {
  for (let port = min; port <= max; port += 1) {
    try {
      await bound(server, { port, host: '127.0.0.1' });
    } catch (error) {
      if (port === max) throw error;
      continue;
    }
    const address = server.address();
    if (typeof address === 'object' && address !== null) {
      return { network: 'tcp', address: `127.0.0.1:${address.port}`, server, removeFiles: () => {} };
    }
  }
  throw new Error(`No port from ${min} to ${max} is free.`);
}

function bound(server: Server, where: { path: string } | { port: number; host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(where, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
