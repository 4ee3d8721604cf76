/**
 * A contestant: a process that runs the engine against the simulator whenever it is told to, with its state in a shared
 * store. What it was promised (a lock, an event that was recorded, a state that was saved) it writes to a file at once, so that
 * a contestant that is killed has said it too.
 */
import { appendFileSync } from 'node:fs';
import { systemClock } from '../../../src/base/clock.ts';
import { hasCode, toDiagnostic } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { KnownSecrets } from '../../../src/base/secret.ts';
import type { Transport } from '../../../src/base/transport.ts';
import { Session } from '../../../src/engine/session.ts';
import { openChosenStore, parseStoreAddress } from '../../../src/local/state-store.ts';
import {
  createHttpsTransport,
  createPve,
  fingerprintTrust,
  parseEndpoint,
  parseToken,
} from '../../../src/pve/index.ts';
import { loadStack, resolveStack } from '../../../src/spec/index.ts';
import { DirectoryStore } from '../../../src/state/directory-store.ts';
import { parseState, STATE_FILE } from '../../../src/state/state-file.ts';
import type { StateStore } from '../../../src/state/store.ts';

export interface Job {
  readonly store: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly leaseMs: number;
  readonly endpoint: string;
  readonly fingerprint: string;
  readonly token: string;
  readonly stack: string;
  /** The local directory of this contestant, and the name of its machine. */
  readonly directory: string;
  readonly host: string;
  /** Where it says what it was promised. */
  readonly report: string;
  /** How long it waits for the lock. */
  readonly patienceMs: number;
  /** It stops itself right before its first change to the cluster, when the intent is recorded. */
  readonly stopsBeforeChange?: boolean;
  /** A defect: it does not ask whether it still has the lock. */
  readonly isCareless?: boolean;
}

/** A line of the report. */
export type Said =
  | { readonly said: 'held'; readonly runId: string; readonly epoch: number | undefined; readonly serial: number }
  | { readonly said: 'recorded'; readonly name: string; readonly line: string }
  | { readonly said: 'saved'; readonly serial: number }
  | { readonly said: 'ended'; readonly code: string };

async function compete(job: Job): Promise<void> {
  const say = (said: Said) => appendFileSync(job.report, `${JSON.stringify(said)}\n`);
  const { stack } = resolveStack(loadStack(job.stack, 'stack.yaml'), {});
  if (!stack) throw new Error('The stack cannot be read.');
  const store = await openChosenStore(parseStoreAddress(job.store), {
    environment: job.environment,
    directory: job.directory,
    stackName: stack.name,
    clock: systemClock,
    random: systemRandom,
    secrets: new KnownSecrets(),
    local: new DirectoryStore(job.directory),
    leaseMs: job.leaseMs,
  });
  const pve = createPve({
    transport: sleepy(
      createHttpsTransport({ endpoint: parseEndpoint(job.endpoint), trust: fingerprintTrust(job.fingerprint) }),
      job.stopsBeforeChange === true,
    ),
    credentials: parseToken(job.token),
  });
  const open = () =>
    Session.open({
      pve,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      store: talkative(store, say),
      ports: { isOpen: async () => true },
      signal: new AbortController().signal,
      stack,
      secrets: new Map(),
      owner: { who: 'contestant', host: job.host, pid: process.pid, command: 'apply' },
    });
  let code = 'done';
  try {
    const session = await patiently(open, job.patienceMs);
    if (job.isCareless) pve.fence.guardedBy(() => {});
    try {
      const planned = await session.plan();
      if (planned.ok && planned.plan.steps.length > 0) {
        const { problems } = await session.execute(planned.plan);
        code = [...problems.values()][0]?.code ?? 'done';
      } else if (!planned.ok) code = planned.problems[0]?.code ?? 'refused';
    } finally {
      await session.close();
    }
  } catch (error) {
    code = toDiagnostic(error).code;
  } finally {
    await pve.close();
    await store.close?.();
  }
  say({ said: 'ended', code });
}

function sleepy(transport: Transport, stopsBeforeChange: boolean): Transport {
  let isDue = stopsBeforeChange;
  return {
    send: (request, options) => {
      if (isDue && request.method !== 'GET') {
        isDue = false;
        process.kill(process.pid, 'SIGSTOP');
      }
      return transport.send(request, options);
    },
    close: () => transport.close(),
  };
}

async function patiently<T>(open: () => Promise<T>, patienceMs: number): Promise<T> {
  const since = systemClock.ticks();
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!hasCode(error, 'STATE_LOCKED') || systemClock.ticks() - since > patienceMs) throw error;
      await systemClock.sleep(20 + systemRandom.next() * 60);
    }
  }
}

/** Says what the store promised, once it has. */
function talkative(store: StateStore, say: (said: Said) => void): StateStore {
  const serialOf = (text: string | undefined) => (text === undefined ? 0 : parseState(text, STATE_FILE).serial);
  return {
    read: (name) => store.read(name),
    list: (prefix) => store.list(prefix),
    remove: (name) => store.remove(name),
    placeOf: (name) => store.placeOf(name),
    holder: () => store.holder(),
    unlock: (options) => store.unlock(options),
    outbox: store.outbox,
    write: async (name, text) => {
      await store.write(name, text);
      if (name === STATE_FILE) say({ said: 'saved', serial: serialOf(text) });
    },
    append: async (name, line) => {
      await store.append(name, line);
      say({ said: 'recorded', name, line });
    },
    lock: async (owner) => {
      const lock = await store.lock(owner);
      say({ said: 'held', runId: owner.runId, epoch: lock.epoch, serial: serialOf(await store.read(STATE_FILE)) });
      return lock;
    },
  };
}

process.on('message', (job: Job) => {
  void compete(job).then(
    () => process.send?.('ended'),
    (error: unknown) => {
      appendFileSync(job.report, `${JSON.stringify({ said: 'ended', code: `DEFECT ${String(error)}` })}\n`);
      process.send?.('ended');
    },
  );
});
process.send?.('ready');
