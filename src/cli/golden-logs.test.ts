/**
 * Compares the log of a run at each of the four levels, word by word. The simulated cluster runs on virtual time and
 * from seeds, so the whole text can be compared. The texts are in testing/golden-logs. After an intended change, `npx
 * vitest run -u src/cli/golden-logs.test.ts` rewrites them; review the difference.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { LOG_LEVELS, type LogLevel } from '../base/log.ts';
import { KnownSecrets } from '../base/secret.ts';
import { Session } from '../engine/session.ts';
import { createPve, parseToken } from '../pve/index.ts';
import {
  buildWorld,
  createSimulator,
  type FaultRuleInput,
  ruleFaults,
  seededRandom,
  VirtualClock,
} from '../simulator/index.ts';
import { DEFAULT_WORLD } from '../simulator/world/default-world.ts';
import { loadStack, resolveStack } from '../spec/index.ts';
import { MemoryStore } from '../state/memory-store.ts';
import { conclusionOf } from './stack/run.ts';
import { createTerminal } from './terminal.ts';
import { testDeps } from './testing/deps.ts';
import { applyView } from './views/change/apply.ts';
import { lineView } from './views/run/run-view.ts';
import { Timeline } from './views/run/timeline.ts';

const STACK = `version: 1
stack: golden
vms:
  web:
    count: 2
    name: web-\${number}
    vmids: 401-402
    node: pve1
    guest: plain
    clone: { template: ubuntu-24.04 }
    memory: 8GiB
`;

/** At this speed, a clone takes long enough for more than ten polls of its task. */
const SLOW = {
  ...DEFAULT_WORLD,
  storages: {
    ...DEFAULT_WORLD.storages,
    'local-lvm': { ...DEFAULT_WORLD.storages?.['local-lvm'], bandwidth: '100M' },
  },
};

/** The first task is not known at first, the first write meets a lock for some attempts, the second clone fails. */
const FAULTS: readonly FaultRuleInput[] = [
  { kind: 'task-unknown', at: 1, for_ms: 2_000 },
  { kind: 'lock', match: { method: 'PUT', path: 'qemu/*/config' }, at: 1, for_ms: 45_000 },
  { kind: 'task-fail', match: { task: 'qmclone' }, at: 2, percent: 40 },
];

async function logAt(level: LogLevel, rules: readonly FaultRuleInput[] = FAULTS): Promise<string> {
  const clock = new VirtualClock();
  const faults = ruleFaults(rules, seededRandom('faults'));
  const simulator = createSimulator({
    world: buildWorld(SLOW, { now: clock.now(), file: 'slow' }),
    clock,
    random: seededRandom(1),
    faults,
  });
  let written = '';
  const stderr = {
    write: (text: string) => {
      written += text;
    },
  };
  const terminal = createTerminal({ stdout: { write: () => {} }, stderr, clock, level, secrets: new KnownSecrets() });
  const { deps } = testDeps({ terminal, level, clock });
  const { stack } = resolveStack(loadStack(STACK, 'stack.yaml'));
  if (!stack) throw new Error('the stack does not resolve');
  const pve = createPve({
    transport: simulator.transport(),
    credentials: parseToken('root@pam!admin=00000000-0000-4000-8000-000000000001'),
    clock,
    random: seededRandom(2),
    logger: terminal,
  });
  const timeline = new Timeline(stack.vms.map(({ address }) => address));
  const store = new MemoryStore();
  await clock.run(async () => {
    const session = await Session.open({
      pve,
      clock,
      random: seededRandom(3),
      log: terminal,
      store,
      ports: { isOpen: async () => true },
      signal: new AbortController().signal,
      onEvent: lineView(timeline, terminal).onEvent,
      stack,
      secrets: new Map(),
      owner: { who: 'ops', host: 'here', pid: 1, command: 'apply' },
    });
    const planned = await session.plan();
    if (!planned.ok) throw new Error(JSON.stringify(planned.problems));
    const startedAt = clock.now();
    const result = await session.execute(planned.plan);
    const execution = { ...result, timeline, tookMs: clock.now() - startedAt };
    applyView(deps).concluded(conclusionOf('apply', execution, { stack }, session.state, planned.plan));
    await session.close();
  });
  return written;
}

describe('the log of a successful run', () => {
  it('ends with the result and its time', async () => {
    const log = await logAt('debug', []);
    await expect(log).toMatchFileSnapshot('testing/golden-logs/well.txt');
    expect(log.trimEnd().split('\n').at(-1)).toMatch(/^SUCCESS Applied: 2 VMs in \d+s\.$/);
    expect(await logAt('error', [])).toBe('');
    expect(await logAt('warn', [])).toBe('');
  });
});

describe('the log of a run with a lock and a failure', () => {
  const logs = new Map<LogLevel, string>();
  const log = (level: LogLevel) => logs.get(level) ?? '';

  beforeAll(async () => {
    for (const level of LOG_LEVELS) logs.set(level, await logAt(level));
  });

  it.each(LOG_LEVELS)('at level %s is the recorded text', async (level) => {
    await expect(log(level)).toMatchFileSnapshot(`testing/golden-logs/${level}.txt`);
  });

  it('is the same every time', async () => {
    expect(await logAt('debug')).toBe(log('debug'));
  });

  it('contains at each level everything of the quieter level, and more', () => {
    for (const [index, level] of LOG_LEVELS.slice(1).entries()) {
      const before = log(LOG_LEVELS[index] ?? 'error').split('\n');
      const after = log(level).split('\n');
      expect(after).toEqual(expect.arrayContaining(before));
      expect(after.length).toBeGreaterThan(before.length);
    }
  });

  // Rewriting the texts without review must not drop what the design promises.
  it.each([
    [
      'the clone and the name of its task',
      /^DEBUG {3}vm\.web\[1\]: clone submitted, .* upid=UPID:pve1:\S+:qmclone:9000:/m,
    ],
    ['the first poll', /^DEBUG {3}qmclone 9000 on pve1: running, poll 1, /m],
    ['a change of its state', /^DEBUG {3}qmclone 9000 on pve1: ended, poll [2-9], /m],
    ['the first poll', /^DEBUG {3}qmclone 9000 on pve1: running, poll 1, /m],
    ['the end of the task', /^DEBUG {3}qmclone 9000 on pve1 ended after [\d.]+s: ok/m],
    ['the completed clone', /^DEBUG {3}vm\.web\[1\]: clone completed in /m],
    ['the beginning of the write', /^DEBUG {3}vm\.web\[1\]: configuration write begins: /m],
    ['each retry with its pause', /attempt=1 pauseMs=\d+[\s\S]*attempt=2 pauseMs=\d+/],
    ['the result with its time', /^DEBUG {3}vm\.web\[1\]: VM 401 on pve1 made in /m],
  ])('at level debug has %s', (_what, pattern) => {
    expect(log('debug')).toMatch(pattern);
  });

  it('shows a failure once, as an error when it happens, and continues', () => {
    const lines = log('info').split('\n');
    const failed = lines.findIndex((line) => line.startsWith('error: Task failed'));
    expect(failed).toBeLessThan(lines.findIndex((line) => line.includes('vm.web[1]: clone done')));
    expect(log('info').match(/^error: /gm)).toHaveLength(1);
    expect(log('info')).not.toMatch(/^INFO .*failed/m);
  });

  it('at level debug leaves out repeated polls', () => {
    const polls = [...log('debug').matchAll(/running, poll (\d+), .*upid=(\S+)/g)];
    const seen = new Map<string, number>();
    for (const [, poll = '', upid = ''] of polls) {
      expect(!seen.has(upid) || Number(poll) % 10 === 0, `poll ${poll} of ${upid}`).toBe(true);
      seen.set(upid, Number(poll));
    }
    expect(seen.size).toBeGreaterThan(1);
  });

  it('never contains the secret of the token', () => {
    for (const level of LOG_LEVELS) expect(log(level)).not.toContain('00000000-0000-4000-8000');
  });
});
