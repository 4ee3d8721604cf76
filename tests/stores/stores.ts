/** The shared stores of the tests, each on a real server of its own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { KnownSecrets } from '../../src/base/secret.ts';
import { openChosenStore, parseStoreAddress } from '../../src/local/state-store.ts';
import { DirectoryStore } from '../../src/state/directory-store.ts';
import type { StateStore } from '../../src/state/store.ts';
import { startHttpStateServer } from '../support/http-state-server.ts';
import { postgresDirectory, S3_BUCKET, S3_KEYS, s3Binary, startPostgres, startS3 } from '../support/store-servers.ts';

export interface StoreScene {
  /** What a user writes into `PROXWRIGHT_STATE`. */
  readonly address: string;
  readonly environment: Readonly<Record<string, string>>;
  /** A view of the store, as a process on another machine has it. */
  open(stackName: string, localDirectory?: string): Promise<StateStore>;
  /** Of a store whose locks have no epoch: which lock of all the one of this run was. */
  lockOrder?(runId: string): number | undefined;
  restart?(): Promise<void>;
  stop(): Promise<void>;
}

export interface StoreKind {
  readonly name: string;
  /** Why it cannot be tried here. */
  readonly missing: string | undefined;
  start(): Promise<StoreScene>;
}

export function sceneOf(
  address: string,
  environment: Readonly<Record<string, string>>,
  server: { restart?(): Promise<void>; stop(): Promise<void> },
): StoreScene {
  const directory = mkdtempSync(join(tmpdir(), 'proxwright-stores-'));
  let views = 0;
  return {
    address,
    environment,
    open: (stackName, localDirectory = join(directory, String(++views))) =>
      openChosenStore(parseStoreAddress(address), {
        environment,
        directory,
        stackName,
        clock: systemClock,
        random: systemRandom,
        secrets: new KnownSecrets(),
        local: new DirectoryStore(localDirectory),
      }),
    ...(server.restart && { restart: () => server.restart?.() ?? Promise.resolve() }),
    stop: async () => {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export const POSTGRES: StoreKind = {
  name: 'PostgreSQL',
  missing: postgresDirectory() === undefined ? 'PostgreSQL is not installed' : undefined,
  start: async () => {
    const server = await startPostgres(postgresDirectory() ?? '');
    return sceneOf(`postgres://proxwright@127.0.0.1:${server.port}/postgres`, {}, server);
  },
};

export const S3: StoreKind = {
  name: 'S3',
  missing: s3Binary() === undefined ? 'versitygw is not on the PATH' : undefined,
  start: async () => {
    const server = await startS3(s3Binary() ?? '');
    const endpoint = encodeURIComponent(`http://127.0.0.1:${server.port}`);
    return sceneOf(`s3://${S3_BUCKET}/team?endpoint=${endpoint}`, S3_KEYS, server);
  },
};

export const HTTP: StoreKind = {
  name: 'HTTP',
  missing: undefined,
  start: async () => {
    const server = await startHttpStateServer();
    const lockOrder = (runId: string) => {
      const index = server.locks.findIndex((text) => text.includes(runId));
      return index < 0 ? undefined : index + 1;
    };
    return { ...sceneOf(server.address, {}, server), lockOrder };
  },
};

export function saySkipped(what: string, why: string): void {
  process.stderr.write(`Skipped: ${what}. ${why}.\n`);
}
