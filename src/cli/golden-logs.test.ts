/** What a run says at each of the four levels, on a simulated cluster in virtual time. */
import { beforeAll, describe, expect, it } from 'vitest';
import { LOG_LEVELS, type LogLevel } from '../base/log.ts';
import { Session } from '../engine/session.ts';
import { createPve, parseToken } from '../pve/index.ts';
import { createSimulator, defaultWorld, ruleFaults, seededRandom, VirtualClock } from '../simulator/index.ts';
import { loadStack, resolveStack } from '../spec/index.ts';
import { MemoryStore } from '../state/memory-store.ts';
import { conclude } from './conclusion.ts';
import { createTerminal } from './terminal.ts';
import { testHost } from './testing/host.ts';
import { lineView } from './views/run-view.ts';
import { Timeline } from './views/timeline.ts';

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

/** The first write meets a lock, the second clone fails. */
const FAULTS = [
  { kind: 'lock', match: { method: 'PUT', path: 'qemu/*/config' }, at: 1, for_ms: 15_000 },
  { kind: 'task-fail', match: { task: 'qmclone' }, at: 2, percent: 0 },
] as const;

async function logAt(level: LogLevel): Promise<string[]> {
  const clock = new VirtualClock();
  const faults = ruleFaults(FAULTS, seededRandom('faults'));
  const simulator = createSimulator({
    world: defaultWorld({ now: clock.now() }),
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
  const terminal = createTerminal({ stdout: { write: () => {} }, stderr, clock, level });
  const { host } = testHost({ terminal, level, clock });
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
      onProgress: lineView(timeline, terminal).onProgress,
      stack,
      secrets: new Map(),
      owner: { who: 'ops', host: 'here', pid: 1, command: 'apply' },
    });
    const planned = await session.plan();
    if (!planned.ok) throw new Error(JSON.stringify(planned.problems));
    const startedAt = clock.now();
    const result = await session.execute(planned.plan);
    const execution = { ...result, timeline, tookMs: clock.now() - startedAt };
    conclude({ stack }, session.state, execution, host, 'apply');
    await session.close();
  });
  // The numbers in the names of tasks are the simulator's business.
  return written
    .trimEnd()
    .replace(/UPID:\S+/g, 'UPID:…')
    .split('\n');
}

describe('the log of a run in which something is busy and something fails', () => {
  const logs = new Map<LogLevel, readonly string[]>();
  const log = (level: LogLevel) => logs.get(level)?.join('\n') ?? '';

  beforeAll(async () => {
    for (const level of LOG_LEVELS) logs.set(level, await logAt(level));
  });

  it('at level error is the failure and the verdict', () => {
    expect(log('error')).toMatchInlineSnapshot(`
      "error: Task failed [TASK_FAILED]
        at vm.web[2], step clone — the server — task UPID:…
        qmclone 9000 on pve1 ended with: "simulated failure".
      ERROR   1 of 2 VMs done; 1 failed. What stands is kept; proxwright apply goes on from here."
    `);
  });

  it('at level warn also has the waiting for locks', () => {
    expect(log('warn')).toMatchInlineSnapshot(`
      "WARNING configure vm.web[1]: busy, trying again in 2.2 s attempt=1 pauseMs=2154 code=CONFIG_LOCKED
      error: Task failed [TASK_FAILED]
        at vm.web[2], step clone — the server — task UPID:…
        qmclone 9000 on pve1 ended with: "simulated failure".
      ERROR   1 of 2 VMs done; 1 failed. What stands is kept; proxwright apply goes on from here."
    `);
  });

  it('at level info also has each step with its time', () => {
    expect(log('info')).toMatchInlineSnapshot(`
      "INFO    2026-01-01T00:00:00.090Z vm.web[1]: clone begins
      INFO    2026-01-01T00:00:00.090Z vm.web[2]: clone begins
      INFO    2026-01-01T00:00:00.390Z vm.web[2]: failed
      INFO    2026-01-01T00:00:01.632Z vm.web[1]: clone done after 1.5s
      INFO    2026-01-01T00:00:01.632Z vm.web[1]: configure begins
      WARNING configure vm.web[1]: busy, trying again in 2.2 s attempt=1 pauseMs=2154 code=CONFIG_LOCKED
      INFO    2026-01-01T00:00:16.632Z vm.web[1]: configure done after 15s
      INFO    2026-01-01T00:00:16.632Z vm.web[1]: verify begins
      INFO    2026-01-01T00:00:16.632Z vm.web[1]: verify done after 0ms
      INFO    2026-01-01T00:00:16.632Z vm.web[1]: start begins
      INFO    2026-01-01T00:00:17.722Z vm.web[1]: start done after 1.1s
      INFO    vm.web[1]: ready after 0ms waitedMs=0
      INFO    2026-01-01T00:00:17.722Z vm.web[1]: done
      error: Task failed [TASK_FAILED]
        at vm.web[2], step clone — the server — task UPID:…
        qmclone 9000 on pve1 ended with: "simulated failure".
      ERROR   1 of 2 VMs done; 1 failed. What stands is kept; proxwright apply goes on from here."
    `);
  });

  it.each([
    ['the clone and its task', /^DEBUG {3}vm\.web\[1\]: clone submitted, waiting up to 30m 0s upid=UPID:…$/m],
    ['the first poll', /^DEBUG {3}qmclone 9000 on pve1: running, poll 1, /m],
    ['the end of the task', /^DEBUG {3}qmclone 9000 on pve1 ended after [\d.]+s: ok/m],
    ['the completed clone', /^DEBUG {3}vm\.web\[1\]: clone completed in /m],
    ['the beginning of the write', /^DEBUG {3}vm\.web\[1\]: configuration write begins: /m],
    ['each retry with its pause', /trying again in [\d.]+ ?m?s/],
    ['the result with its time', /^DEBUG {3}vm\.web\[1\]: VM 401 on pve1 made in /m],
  ])('at level debug also has %s', (_what, pattern) => {
    expect(log('debug')).toMatch(pattern);
    expect(log('debug').split('\n').length).toBeGreaterThan(log('info').split('\n').length);
  });

  it('never has the secret of the token', () => {
    for (const level of LOG_LEVELS) expect(log(level)).not.toContain('00000000-0000-4000-8000');
  });
});
