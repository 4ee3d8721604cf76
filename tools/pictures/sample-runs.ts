/** Runs for pictures and their tests: applies on a simulated cluster, on virtual time. One seed, one story. */
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { describeRun, type RunRecord } from '../../src/engine/record/run-record.ts';
import { Session } from '../../src/engine/session.ts';
import { createPve, parseToken } from '../../src/pve/index.ts';
import {
  createSimulator,
  defaultWorld,
  type FaultRuleInput,
  ruleFaults,
  seededRandom,
  VirtualClock,
} from '../../src/simulator/index.ts';
import { loadStack, type ResolvedStack, resolveStack } from '../../src/spec/index.ts';
import { readRun } from '../../src/state/journal.ts';
import { MemoryStore } from '../../src/state/memory-store.ts';
import type { StateStore } from '../../src/state/store.ts';

const TOKEN = 'root@pam!admin=00000000-0000-4000-8000-000000000001';

/** A database first, two application servers that need it, and a proxy in front of them. */
const LAB = `
version: 1
stack: lab
defaults:
  node: pve1
  guest: cloud-init
  clone: { template: ubuntu-24.04, mode: full }
  nics: { net0: { bridge: vmbr0, ipv4: dhcp } }
vms:
  db: { name: db, memory: 4GiB }
  app: { count: 2, name: 'app-\${number}', after: [db] }
  proxy: { name: proxy, after: [app] }
`;

export interface SampleRun {
  readonly stack: string;
  readonly faults?: readonly FaultRuleInput[];
  /** Called whenever the run has recorded something. */
  readonly onEvent?: (recorded: {
    readonly store: StateStore;
    readonly stack: ResolvedStack;
    readonly clock: Clock;
  }) => void;
}

export const SMALL: SampleRun = { stack: LAB };

/** A backup holds a lock for a while, and later a clone fails. */
export const TROUBLED: SampleRun = {
  stack: LAB,
  faults: [
    { kind: 'lock', match: { path: 'qemu/*/config', method: 'PUT' }, at: 1, for_ms: 40_000 },
    { kind: 'task-fail', match: { path: 'clone' }, at: 2, message: 'no space left on device </script><b>&' },
  ] as readonly FaultRuleInput[],
};

export async function sampleRun({ stack: text, faults = [], onEvent }: SampleRun): Promise<RunRecord> {
  const clock = new VirtualClock();
  const stack = resolved(text);
  const random = seededRandom('picture');
  const world = defaultWorld({ now: clock.now() });
  const simulator = createSimulator({ world, clock, random, faults: ruleFaults(faults) });
  const pve = createPve({ transport: simulator.transport(), credentials: parseToken(TOKEN), clock, random });
  const store = new MemoryStore();
  return clock.run(async () => {
    const session = await Session.open({
      pve,
      clock,
      random,
      log: silentLogger,
      store,
      ports: { isOpen: async () => true },
      signal: new AbortController().signal,
      onEvent: () => onEvent?.({ store, stack, clock }),
      stack,
      secrets: new Map(),
      owner: { who: 'operator', host: 'workstation', pid: 1, command: 'apply' },
    });
    try {
      const result = await session.plan();
      if (!result.ok) throw new Error(result.problems.map(({ detail }) => detail).join('\n'));
      await session.execute(result.plan);
      return describeRun(await readRun(store, session.runId));
    } finally {
      await session.close();
    }
  });
}

function resolved(text: string): ResolvedStack {
  const { stack, diagnostics } = resolveStack(loadStack(text, 'stack.yaml'));
  if (!stack) throw new Error(diagnostics.map(({ detail }) => detail).join('\n'));
  return stack;
}
