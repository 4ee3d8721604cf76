/** What a suite of the engine starts and ends with: a server, what it may use there, a state, and the removal of everything it created. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import type { Account } from '../account.ts';
import { type AcceptanceServer, openServer } from '../server.ts';
import { removeLeftovers } from './leftovers.ts';
import type { Runs } from './runs.ts';
import { findTarget, type Target } from './target.ts';

export interface Estate {
  /** Name of the stack, and the mark in the notes of everything that is made. */
  readonly name: string;
  readonly server: AcceptanceServer;
  readonly target: Target;
  readonly runs: Runs;
}

/** Opened before the first test of the file; the result may be read from then on. */
export function openEstate(account: Account): Estate {
  const name = `acceptance-${randomBytes(4).toString('hex')}`;
  const stateDirectory = mkdtempSync(join(tmpdir(), 'proxwright-acceptance-'));
  let opened: Omit<Estate, 'name'> | undefined;
  const now = () => {
    if (!opened) throw new Error('the server is not open yet');
    return opened;
  };

  beforeAll(async () => {
    const server = await openServer();
    const runs = { pve: server.pve, clock: server.clock, stateDirectory };
    try {
      opened = { server, runs, target: await findTarget(server.pve, process.env) };
    } catch (error) {
      await server.close();
      throw error;
    }
  });

  afterAll(async () => {
    try {
      if (opened) {
        const { server, target } = opened;
        for (const line of await removeLeftovers(server.pve, target, name)) account.checked(line);
      }
    } finally {
      rmSync(stateDirectory, { recursive: true, force: true });
      account.print();
      await opened?.server.close();
    }
  });

  return {
    name,
    get server() {
      return now().server;
    },
    get target() {
      return now().target;
    },
    get runs() {
      return now().runs;
    },
  };
}

/** A VM of the suite in a stack file, cloned from the target's template; `own` fields come last. */
export function vmOf({ name, target }: Estate, own: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { ids, node, template, mode, storage, power, fields } = target;
  return {
    node,
    guest: 'plain',
    power,
    // A guest that is still booting ignores a shutdown.
    ...(power === 'running' && { ready: { agent: true } }),
    vmids: `${ids.first}-${ids.last}`,
    clone: { template, mode, ...(storage !== undefined && { storage }) },
    description: `Made by the acceptance suite ${name}; it may be removed.`,
    ...fields,
    ...own,
  };
}

export function stackOf({ name }: Estate, vms: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ version: 1, stack: name, vms });
}
