/** A run that waited for another client's lock says so in its journal, so that a report about it can tell. */
import { expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { timeline } from '../../../src/engine/evidence/incident-facts.ts';
import { describeRun } from '../../../src/engine/record/run-record.ts';
import { Session } from '../../../src/engine/session.ts';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { createSimulator, defaultWorld, ruleFaults, seededRandom, VirtualClock } from '../../../src/simulator/index.ts';
import { loadStack, resolveStack } from '../../../src/spec/index.ts';
import { readRun } from '../../../src/state/journal.ts';
import { MemoryStore } from '../../../src/state/memory-store.ts';

const STACK = `version: 1
stack: lab
vms:
  web: { name: web, vmid: 401, node: pve1, guest: plain, power: stopped, clone: { template: ubuntu-24.04 }, memory: 8GiB }
`;

it('notes each retry with its reason, at its time, in the journal of the run', async () => {
  const clock = new VirtualClock();
  const faults = ruleFaults(
    [{ kind: 'lock', match: { method: 'PUT', path: 'qemu/*/config' }, at: 1, for_ms: 45_000 }],
    seededRandom('faults'),
  );
  const world = defaultWorld({ now: clock.now() });
  const simulator = createSimulator({ world, clock, random: seededRandom(1), faults });
  const credentials = parseToken('root@pam!admin=00000000-0000-4000-8000-000000000001');
  const pve = createPve({ transport: simulator.transport(), credentials, clock, random: seededRandom(2) });
  const { stack } = resolveStack(loadStack(STACK, 'stack.yaml'));
  if (!stack) throw new Error('the stack does not resolve');
  const store = new MemoryStore();
  const runId = await clock.run(async () => {
    const session = await Session.open({
      pve,
      clock,
      random: seededRandom(3),
      log: silentLogger,
      store,
      ports: { isOpen: async () => true },
      signal: new AbortController().signal,
      stack,
      secrets: new Map(),
      owner: { who: 'ops', host: 'here', pid: 1, command: 'apply' },
    });
    const planned = await session.plan();
    if (!planned.ok) throw new Error(JSON.stringify(planned.problems));
    const { outcomes } = await session.execute(planned.plan);
    expect([...outcomes.values()]).toEqual(['done']);
    await session.close();
    return session.runId;
  });
  const run = describeRun(await readRun(store, runId));
  expect(run.notes.length).toBeGreaterThan(1);
  const waits = timeline(run, '').filter(({ what }) =>
    /busy, trying again in [\d.]+ s, for up to [\dms ]+ more$/.test(what),
  );
  expect(waits.map(({ address }) => address)).toEqual(run.notes.map(() => 'vm.web'));
  expect(new Set(waits.map(({ at }) => at)).size).toBe(waits.length);
});
