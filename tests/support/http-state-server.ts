/** Terraform's HTTP backend protocol: one state, its versions, and a lock. Small, but it checks what the protocol says. */
import { createServer } from 'node:http';

export interface HttpStateServer {
  readonly address: string;
  /** Every document that was posted, oldest first. */
  readonly versions: readonly string[];
  /** Every lock that was given, oldest first. */
  readonly locks: readonly string[];
  /** As an administrator does it. */
  dropLock(): void;
  clear(): void;
  stop(): Promise<void>;
}

export async function startHttpStateServer(): Promise<HttpStateServer> {
  let lock: { readonly id: string; readonly text: string } | undefined;
  const versions: string[] = [];
  const locks: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const answer = (status: number, text = '') => response.writeHead(status).end(text);
      const idOf = (text: string): string => (JSON.parse(text) as { ID: string }).ID;
      const query = new URL(request.url ?? '/', 'http://localhost').searchParams.get('ID');
      switch (request.method) {
        case 'GET':
          return versions.length === 0 ? answer(404) : answer(200, versions.at(-1));
        case 'POST':
          if (lock ? query !== lock.id : query !== null) return answer(409, lock?.text);
          versions.push(body);
          return answer(200);
        case 'DELETE':
          versions.length = 0;
          return answer(200);
        case 'LOCK':
          if (lock) return answer(423, lock.text);
          lock = { id: idOf(body), text: body };
          locks.push(body);
          return answer(200);
        case 'UNLOCK':
          // Terraform's force-unlock sends no body.
          if (lock && body !== '' && idOf(body) !== lock.id) return answer(409, lock.text);
          lock = undefined;
          return answer(200);
        default:
          return answer(405);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  if (typeof at !== 'object' || at === null) throw new Error('The server has no port.');
  return {
    address: `http://127.0.0.1:${at.port}/state/lab`,
    versions,
    locks,
    dropLock: () => {
      lock = undefined;
    },
    clear: () => {
      lock = undefined;
      versions.length = 0;
      locks.length = 0;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
