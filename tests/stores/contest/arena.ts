/** Where contests take place: the simulator with its log of requests, the store behind a wire that can be cut, the contestants. */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket, connect as tcpConnect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import {
  createSimulator,
  defaultWorld,
  scaledClock,
  seededRandom,
  serveSimulator,
  systemClock,
} from '../../../src/simulator/index.ts';
import { TOKEN } from '../../e2e/project.ts';
import type { StoreKind, StoreScene } from '../stores.ts';
import type { Job } from './worker.ts';

/** A change that the simulator received: of which run, as its tag says, and when in the order of all requests. */
export interface Change {
  readonly tag: string;
  readonly line: string;
}

export interface Arena {
  readonly scene: StoreScene;
  /** What the simulator received and is no read, oldest first. */
  readonly changes: Change[];
  readonly directory: string;
  readonly wire: Wire;
  /** What every job of a contestant has in common. */
  readonly common: Pick<Job, 'store' | 'environment' | 'endpoint' | 'fingerprint' | 'token'>;
  /** A contestant that is waiting for its job. */
  contestant(): Promise<ChildProcess>;
  /** One that has ended its job, for the next contest. */
  giveBack(child: ChildProcess): void;
  close(): Promise<void>;
}

/** Fast enough that clones of the beginning take no time. */
const SPEED = 500;

export async function openArena(kind: StoreKind): Promise<Arena> {
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-contest-'));
  const program = join(directory, 'worker.cjs');
  const entry = fileURLToPath(new URL('./worker.ts', import.meta.url));
  const [scene] = await Promise.all([
    kind.start(),
    build({
      entryPoints: [entry],
      outfile: program,
      bundle: true,
      platform: 'node',
      target: 'node20',
      format: 'cjs',
      external: ['pg-native'],
      logLevel: 'error',
    }),
  ]);
  const changes: Change[] = [];
  const simulator = createSimulator({
    world: defaultWorld({ now: systemClock.now() }),
    clock: scaledClock(systemClock, SPEED),
    random: seededRandom('contest'),
    faults: {
      tasks: {},
      onRequest: ({ method, path, params }) => {
        if (method !== 'GET') changes.push({ tag: tagIn(JSON.stringify(params)), line: `${method} ${path}` });
        return undefined;
      },
    },
  });
  const server = await serveSimulator(simulator, { host: '127.0.0.1', port: 0 });
  const wire = await openWire(portIn(scene.address));
  const idle: ChildProcess[] = [];
  const all = new Set<ChildProcess>();
  const start = () =>
    new Promise<ChildProcess>((resolve, reject) => {
      const child = fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
      all.add(child);
      child.once('exit', () => all.delete(child));
      child.once('error', reject);
      child.once('message', () => resolve(child));
    });
  return {
    scene,
    changes,
    directory,
    wire,
    common: {
      store: scene.address.replaceAll(String(portIn(scene.address)), String(wire.port)),
      environment: scene.environment,
      endpoint: server.endpoint,
      fingerprint: server.fingerprint,
      token: TOKEN,
    },
    contestant: async () => idle.pop() ?? start(),
    giveBack: (child) => {
      if (child.exitCode === null && child.signalCode === null) idle.push(child);
    },
    close: async () => {
      const ended = [...all].map((child) => new Promise((resolve) => child.once('exit', resolve)));
      for (const child of all) child.kill('SIGKILL');
      await Promise.all(ended);
      await wire.close();
      await server.close();
      await scene.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Runs mark what they write with a tag. */
function tagIn(text: string): string {
  return /run-[0-9]+-[0-9]+/.exec(text)?.[0] ?? '';
}

function portIn(address: string): number {
  const [, port] = /127\.0\.0\.1(?::|%3A)(\d+)/.exec(address) ?? [];
  return Number(port);
}

/** A connection between contestants and their store that can be cut. */
export interface Wire {
  readonly port: number;
  /** Ends every connection; until it is mended, new ones end at once. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

async function openWire(target: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server: Server = createServer((socket) => {
    if (isCut) return void socket.destroy();
    const other = tcpConnect(target, '127.0.0.1');
    for (const [one, another] of [
      [socket, other],
      [other, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        another.destroy();
      });
      one.pipe(another);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  if (typeof at !== 'object' || at === null) throw new Error('The wire has no port.');
  return {
    port: at.port,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => {
      isCut = false;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
