/**
 * A rehearsal against the apply that follows it: the plans are the same, the same requests are sent in the same order for
 * each VM, polls apart, and the predicted duration stands beside the measured one. Every apply teaches durations to the next
 * rehearsal. A busy server is not equally fast every time, so a rehearsal afterwards shows how good the prediction is once
 * its speeds are known. Whatever was made is removed.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { observe } from '../../src/engine/observe.ts';
import { planStack } from '../../src/engine/plan.ts';
import { describeRun } from '../../src/engine/record/run-record.ts';
import { readCluster } from '../../src/rehearse/copy/read-cluster.ts';
import { onceEach } from '../../src/rehearse/copy/watched-reads.ts';
import { type Rehearsal, rehearse } from '../../src/rehearse/rehearse.ts';
import { lineOf } from '../../src/rehearse/trial/mortal-process.ts';
import { DirectoryStore } from '../../src/state/directory-store.ts';
import { listRuns, nameOfJournal, readRuns } from '../../src/state/journal.ts';
import { readRecorded } from '../../src/state/recorded.ts';
import type { StateStore } from '../../src/state/store.ts';
import { Account } from './account.ts';
import { removeLeftovers } from './engine/leftovers.ts';
import { apply, destroy, resolved } from './engine/runs.ts';
import { stackText } from './engine/stack.ts';
import { findTarget, type Target } from './engine/target.ts';
import { type AcceptanceServer, openServer } from './server.ts';
import { stepsOf } from './steps.ts';

const account = new Account();
const step = stepsOf(account);
const name = `acceptance-${randomBytes(4).toString('hex')}`;
const directory = mkdtempSync(join(tmpdir(), 'proxwright-acceptance-'));
const store = new DirectoryStore(join(directory, 'state'));
const STACK = { count: 2, memory: '128MiB', tags: ['acceptance'], moreGib: 1 };
let server: AcceptanceServer;
let target: Target;

beforeAll(async () => {
  server = await openServer();
  target = await findTarget(server.pve, process.env);
});

afterAll(async () => {
  try {
    if (target) for (const line of await removeLeftovers(server.pve, target, name)) account.checked(line);
  } finally {
    rmSync(directory, { recursive: true, force: true });
    account.print();
    await server?.close();
  }
});

async function rehearsed(known: StateStore): Promise<Rehearsal> {
  const stack = resolved(stackText(name, target, STACK));
  const { state } = await readRecorded(store, name);
  let reads: ReturnType<typeof onceEach> | undefined;
  const pve = server.connectThrough((transport) => {
    reads = onceEach(transport, server.clock);
    return reads.transport;
  });
  const observed = await observe({ pve, stack, state });
  const facts = await readCluster({ pve, stack, observed });
  await pve.close();
  const secrets = new Map();
  const planned = planStack({ stack, state, observed, secrets, now: server.clock.now() });
  if (!planned.ok) throw new Error(planned.problems.map(({ detail }) => detail).join('\n'));
  const { plan } = planned;
  const latencyMs = reads?.latencyMs() ?? 0;
  const clock = server.clock;
  return rehearse({
    facts,
    stack,
    state,
    observed,
    plan,
    options: {},
    secrets,
    store: known,
    clock,
    seed: '1',
    latencyMs,
  });
}

/** Applies, and returns what it requested and how long it took. */
async function applied() {
  const requests: string[] = [];
  const pve = server.connectThrough((transport) => ({
    send: (request, options) => {
      requests.push(lineOf(request));
      return transport.send(request, options);
    },
    close: () => transport.close(),
  }));
  await apply({ pve, clock: server.clock, stateDirectory: join(directory, 'state') }, stackText(name, target, STACK));
  await pve.close();
  const journal = (await readRuns(store)).at(-1);
  if (!journal) throw new Error('the apply left no journal');
  return { requests, runId: journal.runId, tookMs: describeRun(journal).durationMs ?? 0 };
}

/** Looks at tasks, agents and the list of running VMs: as many as the time allows. */
const POLL = /\/tasks\/|\/agent\/|^GET \/nodes\/[^/]+\/qemu$/;

/** Everything but polls. VMs proceed side by side, so the order within each of them is the decision. */
function decisionsByGuest(lines: readonly string[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const line of lines.filter((each) => !POLL.test(each))) {
    const guest = /\/qemu\/(\d+)/.exec(line)?.[1] ?? 'cluster';
    found[guest] = [...(found[guest] ?? []), line];
  }
  return found;
}

/** The store without the runs before the last apply: a rehearsal then knows how fast the server was during that one. */
async function onlyRun(runId: string): Promise<StateStore> {
  const others = (await listRuns(store)).filter((each) => each !== runId).map(nameOfJournal);
  return new Proxy(store, {
    get: (target, key) => {
      if (key === 'list') return async () => (await target.list()).filter((name) => !others.includes(name));
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const percent = (predictedMs: number, tookMs: number) => {
  const value = Math.round((100 * (predictedMs - tookMs)) / tookMs);
  return `${value > 0 ? '+' : ''}${value} %`;
};

/** A rehearsal, the apply, its end, and a rehearsal that knows only that apply. */
async function compared(words: string): Promise<string> {
  const rehearsal = await rehearsed(store);
  expect(rehearsal.problems).toEqual([]);
  expect(rehearsal.planDifferences).toEqual([]);
  const { requests, tookMs, runId } = await applied();
  expect(decisionsByGuest(rehearsal.requests)).toEqual(decisionsByGuest(requests));
  await destroy(
    { pve: server.pve, clock: server.clock, stateDirectory: join(directory, 'state') },
    stackText(name, target, STACK),
  );
  const afterwards = await rehearsed(await onlyRun(runId));
  return (
    `${words}: predicted ${rehearsal.tookMs} ms (${rehearsal.fastestMs} to ${rehearsal.slowestMs}), took ${tookMs} ms: ` +
    `${percent(rehearsal.tookMs, tookMs)}; with the speeds of this very run ${percent(afterwards.tookMs, tookMs)}`
  );
}

describe('a rehearsal', () => {
  step('requests what the apply requests, before the first apply', () => compared('never applied before'));
  step('requests what the apply requests, with durations of one run', () => compared('learned from one run'));
  step('requests what the apply requests, with durations of two runs', () => compared('learned from two runs'));
});
