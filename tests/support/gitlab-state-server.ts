/**
 * States as GitLab manages them, where it differs from the smallest server that the protocol allows. Read in its source, for
 * behaviour: lib/api/terraform/state.rb, app/services/terraform/remote_state_handler.rb, app/models/terraform/state.rb.
 *
 * - A lock keeps only its ID, its user and its time. A refusal repeats the other fields of the request that it refuses.
 * - A state posted without the lock is a fault of the server (500).
 * - A document has the serial of its content as version. A version that exists is refused (422), and the highest one is the
 *   document that readers get.
 */
import { createServer, type Server } from 'node:http';

export interface GitlabStateServer {
  readonly address: string;
  readonly lockAddress: string;
  /** By serial. */
  readonly versions: ReadonlyMap<number, string>;
  readonly lockId: string | undefined;
  /** As an administrator does it. */
  dropLock(): void;
  /** The answer to the next request of this method is lost. */
  loseAnswerTo(method: string): void;
  stop(): Promise<void>;
}

export async function startGitlabStateServer(user = 'deploy-bot'): Promise<GitlabStateServer> {
  const versions = new Map<number, string>();
  let lock: { readonly id: string; readonly at: string } | undefined;
  let lost: string | undefined;
  let locks = 0;

  function answerTo(method: string, path: string, id: string | null, body: string): readonly [number, string?] {
    if (path.endsWith('/lock')) {
      if (method === 'DELETE') {
        if (id !== null && id !== (lock?.id ?? '')) return [409];
        lock = undefined;
        return [200];
      }
      if (method !== 'POST') return [405];
      const { ID, Operation, Info, Version, Path } = JSON.parse(body) as Record<string, string>;
      if ([ID, Operation, Info, Version, Path].includes(undefined)) return [400];
      const isTaken = lock !== undefined;
      lock ??= { id: ID ?? '', at: new Date(Date.UTC(2026, 0, 1, 0, 0, ++locks)).toISOString() };
      return [
        isTaken ? 409 : 200,
        JSON.stringify({ Operation, Info, Version, Path, ID: lock.id, Who: user, Created: lock.at }),
      ];
    }
    if (method === 'GET') {
      const newest = versions.get(Math.max(...versions.keys()));
      return newest === undefined ? [204] : [200, newest];
    }
    if (method === 'DELETE') {
      versions.clear();
      return [200];
    }
    if (method !== 'POST') return [405];
    if (body === '') return [204];
    const { serial } = JSON.parse(body) as { readonly serial?: number };
    if (serial === undefined) return [422, 'No serial in payload'];
    if ((id ?? '') !== (lock?.id ?? '')) return [500, '{"message":"500 Internal Server Error"}'];
    if (versions.has(serial)) return [422, '{"message":"PG::UniqueViolation: duplicate key value"}'];
    versions.set(serial, body);
    return [200];
  }

  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
      const { method = '' } = request;
      const [status, text] = answerTo(method, pathname, searchParams.get('ID'), Buffer.concat(chunks).toString());
      if (lost !== method) return void response.writeHead(status).end(text);
      lost = undefined;
      request.socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  if (typeof at !== 'object' || at === null) throw new Error('The server has no port.');
  const address = `http://127.0.0.1:${at.port}/api/v4/projects/7/terraform/state/lab`;
  return {
    address,
    lockAddress: `${address}/lock`,
    versions,
    get lockId() {
      return lock?.id;
    },
    dropLock: () => {
      lock = undefined;
    },
    loseAnswerTo: (method) => {
      lost = method;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
