/**
 * A rehearsal against the apply that follows it: the plans are the same, the changes are requested in the same order for
 * each VM, and the predicted duration stands beside the measured one. The first apply teaches durations to the second
 * rehearsal. Whatever was made is removed.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import type { Transport } from '../../src/base/transport.ts';
import { observe } from '../../src/engine/observe.ts';
import { planStack } from '../../src/engine/plan.ts';
import { describeRun } from '../../src/engine/record/run-record.ts';
import { connectionFromEnvironment, createHttpsTransport, createPve, requireConnection } from '../../src/pve/index.ts';
import { readCluster } from '../../src/rehearse/copy/read-cluster.ts';
import { onceEach } from '../../src/rehearse/copy/watched-reads.ts';
import { type Rehearsal, rehearse } from '../../src/rehearse/rehearse.ts';
import { lineOf } from '../../src/rehearse/trial/mortal-process.ts';
import { DirectoryStore } from '../../src/state/directory-store.ts';
import { readRuns } from '../../src/state/journal.ts';
import { recallState } from '../../src/state/recorded.ts';
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

function connect(watch: (transport: Transport) => Transport) {
  const { endpoint, credentials } = requireConnection(
    connectionFromEnvironment({ ...process.env, ...server.environment }),
  );
  const { trust } = connectionFromEnvironment({ ...process.env, ...server.environment });
  const transport = watch(createHttpsTransport({ endpoint, trust }));
  return createPve({ transport, endpoint: endpoint.url, credentials, clock: server.clock, random: systemRandom });
}

async function rehearsed(): Promise<Rehearsal> {
  const stack = resolved(stackText(name, target, STACK));
  const { state } = await recallState(store, name);
  let reads: ReturnType<typeof onceEach> | undefined;
  const pve = connect((transport) => {
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
  return rehearse({ facts, stack, state, observed, plan, options: {}, secrets, store, clock, seed: '1', latencyMs });
}

/** Applies, and returns what it requested, without reads. */
async function applied(): Promise<{ readonly requests: readonly string[]; readonly tookMs: number }> {
  const requests: string[] = [];
  const pve = connect((transport) => ({
    send: (request, options) => {
      requests.push(lineOf(request));
      return transport.send(request, options);
    },
    close: () => transport.close(),
  }));
  await apply({ pve, clock: server.clock, stateDirectory: join(directory, 'state') }, stackText(name, target, STACK));
  await pve.close();
  const journal = (await readRuns(store)).at(-1);
  return { requests, tookMs: (journal && describeRun(journal).durationMs) ?? 0 };
}

/** VMs proceed side by side, so only the order within each of them is a decision; agents are polled. */
function changesByGuest(lines: readonly string[]): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const line of lines.filter((each) => !each.startsWith('GET ') && !each.endsWith('/agent/ping'))) {
    const guest = /\/qemu\/(\d+)/.exec(line)?.[1] ?? '';
    found[guest] = [...(found[guest] ?? []), line];
  }
  return found;
}

async function compared(words: string): Promise<string> {
  const rehearsal = await rehearsed();
  expect(rehearsal.problems).toEqual([]);
  expect(rehearsal.planDifferences).toEqual([]);
  const { requests, tookMs } = await applied();
  expect(changesByGuest(rehearsal.requests)).toEqual(changesByGuest(requests));
  const percent = Math.round((100 * (rehearsal.tookMs - tookMs)) / tookMs);
  return `${words}: predicted ${rehearsal.tookMs} ms (${rehearsal.fastestMs} to ${rehearsal.slowestMs}), took ${tookMs} ms: ${percent} %`;
}

describe('a rehearsal', () => {
  step('requests what the apply requests, with default durations', () => compared('with defaults'));

  step('requests what the apply requests, with learned durations', async () => {
    const runs = { pve: server.pve, clock: server.clock, stateDirectory: join(directory, 'state') };
    await destroy(runs, stackText(name, target, STACK));
    const result = await compared('learned');
    await destroy(runs, stackText(name, target, STACK));
    return result;
  });
});
