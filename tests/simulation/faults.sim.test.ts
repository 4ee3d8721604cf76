/** Every kind of fault, seen from outside: a client of the API on virtual time meets it, and meets nothing else. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { TransportFailure, type WireResponse } from '../../src/base/transport.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { createSimulator, type Simulator } from '../../src/simulator/core/simulator.ts';
import { type FaultPlan, ruleFaults, seededFaults } from '../../src/simulator/faults/plan.ts';
import type { FaultRuleInput } from '../../src/simulator/faults/rule.ts';
import { seededRules } from '../../src/simulator/faults/seeded.ts';
import { buildWorld } from '../../src/simulator/world/build-world.ts';
import { RECORDED_WORLD } from '../../src/simulator/world/recorded-world.ts';

const TOKEN = 'PVEAPIToken=root@pam!test=00000000-0000-4000-8000-000000000001';

interface Scene {
  readonly clock: VirtualClock;
  readonly simulator: Simulator;
  readonly plan: FaultPlan;
  /** Status, reason phrase, and `data` of a request. */
  ask(method: string, path: string, params?: Record<string, string>): Promise<Answer>;
  /** Starts a task and waits for its end. */
  finish(method: string, path: string, params?: Record<string, string>): Promise<string>;
  run<T>(work: () => Promise<T>): Promise<T>;
}

interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly data: unknown;
  readonly errors: unknown;
  readonly tookMs: number;
}

function scene(rules: readonly FaultRuleInput[], plan = ruleFaults(rules, seededRandom('chance'))): Scene {
  const clock = new VirtualClock();
  const simulator = createSimulator({
    world: buildWorld(RECORDED_WORLD, { now: clock.now() }),
    clock,
    random: seededRandom('world'),
    faults: plan,
  });
  const ask = async (method: string, path: string, params: Record<string, string> = {}) => {
    const form = new URLSearchParams(params).toString();
    const inQuery = method === 'GET' || method === 'DELETE';
    const startedAt = clock.now();
    const answer = await simulator.handle({
      method,
      target: `/api2/json${path}${inQuery && form ? `?${form}` : ''}`,
      headers: { authorization: TOKEN },
      ...(!inQuery && form !== '' && { body: form }),
    });
    return { ...decoded(answer), tookMs: clock.now() - startedAt };
  };
  const finish = async (method: string, path: string, params: Record<string, string> = {}) => {
    const started = await ask(method, path, params);
    expect(started).toMatchObject({ status: 200 });
    await simulator.runtime.tasks.ended(String(started.data));
    return simulator.world.tasks.get(String(started.data))?.exitStatus ?? 'unknown';
  };
  return { clock, simulator, plan, ask, finish, run: (work) => clock.run(work) };
}

function decoded(answer: WireResponse): Omit<Answer, 'tookMs'> {
  const body = answer.body === '' ? {} : JSON.parse(answer.body);
  return { status: answer.status, reason: answer.reason, data: body.data, errors: body.errors };
}

const CONFIG = '/nodes/pve1/qemu/100/config';
const CLONE = '/nodes/pve1/qemu/9001/clone';
const cloneTo = (newid: number, name = 'copy') => ({ newid: String(newid), name, full: '1' });

describe('connections', () => {
  it('lose the request if they are cut before delivery', async () => {
    const { run, ask, simulator } = scene([{ kind: 'cut-before', match: { path: 'config' }, at: 1 }]);
    await run(async () => {
      await expect(ask('PUT', CONFIG, { cores: '2' })).rejects.toBeInstanceOf(TransportFailure);
      expect(simulator.world.vms.get(100)?.config.current.get('cores')).toBe('1');
      expect(await ask('PUT', CONFIG, { cores: '2' })).toMatchObject({ status: 200 });
    });
  });

  it('lose only the answer if they are cut after delivery', async () => {
    const { run, ask, simulator } = scene([{ kind: 'cut-after', match: { method: 'PUT' }, at: 1 }]);
    await run(async () => {
      await expect(ask('PUT', CONFIG, { cores: '2' })).rejects.toBeInstanceOf(TransportFailure);
      expect(simulator.world.vms.get(100)?.config.current.get('cores')).toBe('2');
    });
  });

  it('are answered 595, and nothing happens, if the proxy cannot connect', async () => {
    const { run, ask, simulator } = scene([{ kind: 'unreachable', at: 1, reason: 'No route to host' }]);
    await run(async () => {
      expect(await ask('PUT', CONFIG, { cores: '2' })).toMatchObject({ status: 595, reason: 'No route to host' });
      expect(simulator.world.vms.get(100)?.config.current.get('cores')).toBe('1');
    });
  });

  it('are answered 596 after 30 s, while the work continues, if the proxy gives up', async () => {
    const { run, ask, simulator } = scene([{ kind: 'proxy-timeout', match: { path: 'clone' }, at: 1 }]);
    await run(async () => {
      expect(await ask('POST', CLONE, cloneTo(300))).toMatchObject({ status: 596, tookMs: 30_000 });
      expect(simulator.world.vms.get(300)?.config.current.get('name')).toBe('copy');
    });
  });

  it('are refused with the status and words of the rule', async () => {
    const { run, ask } = scene([{ kind: 'refuse', status: 503, message: 'too busy', every: 2 }]);
    await run(async () => {
      expect(await ask('GET', '/version')).toMatchObject({ status: 200 });
      expect(await ask('GET', '/version')).toMatchObject({ status: 503, reason: 'too busy' });
      expect(await ask('GET', '/version')).toMatchObject({ status: 200 });
    });
  });

  it('fail while the daemon is down, except those that the proxy answers', async () => {
    const { run, ask, clock } = scene([{ kind: 'daemon-down', at: 2, for_ms: 5_000 }]);
    await run(async () => {
      expect(await ask('PUT', CONFIG, { cores: '2' })).toMatchObject({ status: 200 });
      expect(await ask('PUT', CONFIG, { cores: '3' })).toMatchObject({ status: 595, reason: 'Connection refused' });
      expect(await ask('GET', '/version')).toMatchObject({ status: 200 });
      await clock.sleep(4_000);
      expect(await ask('PUT', CONFIG, { cores: '3' })).toMatchObject({ status: 595 });
      await clock.sleep(1_000);
      expect(await ask('PUT', CONFIG, { cores: '3' })).toMatchObject({ status: 200 });
    });
  });

  it('stay refused with an expired ticket until a new login', async () => {
    const { run, simulator, clock } = scene([{ kind: 'ticket-expired', at: 1 }]);
    const login = async () => {
      const answer = await simulator.handle({
        method: 'POST',
        target: '/api2/json/access/ticket',
        headers: {},
        body: 'username=root@pam&password=test1234',
      });
      return String(JSON.parse(answer.body).data.ticket);
    };
    const version = (ticket: string) =>
      simulator.handle({
        method: 'GET',
        target: '/api2/json/version',
        headers: { cookie: `PVEAuthCookie=${encodeURIComponent(ticket)}` },
      });
    await run(async () => {
      const ticket = await login();
      const startedAt = clock.now();
      expect(await version(ticket)).toMatchObject({ status: 401, reason: 'Authentication failed!' });
      expect(clock.now() - startedAt).toBe(3_000);
      expect(await version(ticket)).toMatchObject({ status: 401 });
      expect(await version(await login())).toMatchObject({ status: 200 });
    });
  });
});

describe('locks', () => {
  it('make a change of the VM wait, and fail if it takes too long', async () => {
    const { run, ask } = scene([
      { kind: 'lock', match: { path: 'qemu/*/config' }, at: 1, for_ms: 4_000 },
      { kind: 'lock', match: { path: 'qemu/*/config' }, at: 2, for_ms: 20_000 },
    ]);
    await run(async () => {
      const waited = await ask('PUT', CONFIG, { cores: '2' });
      expect(waited).toMatchObject({ status: 200 });
      expect(waited.tookMs).toBeGreaterThanOrEqual(4_000);
      expect(await ask('PUT', CONFIG, { cores: '3' })).toMatchObject({
        status: 500,
        reason: "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout",
      });
    });
  });

  it('make a copy fail if the storage is locked', async () => {
    const { run, finish } = scene([{ kind: 'storage-lock', storage: 'local', for_ms: 60_000, at: 1 }]);
    await run(async () => {
      expect(await finish('POST', CLONE, cloneTo(300))).toBe(
        "clone failed: can't lock file '/var/lock/pve-manager/pve-storage-local' - got timeout",
      );
    });
  });

  it('make changes of users fail if the user database is locked', async () => {
    const { run, ask } = scene([{ kind: 'users-lock', for_ms: 60_000, at: 1 }]);
    await run(async () => {
      expect(await ask('POST', '/access/users', { userid: 'new@pve' })).toMatchObject({
        status: 500,
        reason: "create user failed: cfs-lock 'file-user_cfg' error: got lock request timeout",
      });
    });
  });
});

describe('tasks', () => {
  it('fail at their percentage and clean up as a real failure would', async () => {
    const { run, finish, simulator } = scene([
      { kind: 'task-fail', match: { task: 'qmclone' }, percent: 40, message: 'disk on fire', at: 1 },
    ]);
    await run(async () => {
      expect(await finish('POST', CLONE, cloneTo(300))).toBe('clone failed: disk on fire');
      expect(simulator.world.vms.has(300)).toBe(false);
      const [task] = simulator.world.tasks.values();
      const percentages = task?.log.flatMap((line) => /\((\d+\.\d+)%\)/.exec(line)?.slice(1).map(Number) ?? []) ?? [];
      expect(percentages.at(-1)).toBeGreaterThanOrEqual(40);
      expect(percentages.at(-1)).toBeLessThan(42);
      expect(await finish('POST', CLONE, cloneTo(300))).toBe('OK');
    });
  });

  it('have done nothing if they fail at 0 %, and everything at 100 %', async () => {
    const { run, finish, simulator } = scene([
      { kind: 'task-fail', percent: 0, at: 1 },
      // Not counted by this rule: the task that the one before it has struck.
      { kind: 'task-fail', percent: 100, at: 1 },
    ]);
    await run(async () => {
      expect(await finish('POST', CLONE, cloneTo(300))).toBe('simulated failure');
      expect(simulator.world.vms.has(300)).toBe(false);
      expect(await finish('POST', CLONE, cloneTo(301))).toBe('simulated failure');
      expect(simulator.world.vms.get(301)?.config.current.has('lock')).toBe(false);
    });
  });

  it('end with their number of warnings', async () => {
    const { run, finish } = scene([{ kind: 'task-warn', match: { task: 'qm*' }, at: 1 }]);
    await run(async () => {
      expect(await finish('POST', CLONE, cloneTo(300))).toBe('WARNINGS: 1');
      expect(await finish('POST', CLONE, cloneTo(301))).toBe('OK');
    });
  });

  it('may be unknown for a moment after their start', async () => {
    const { run, ask, clock } = scene([{ kind: 'task-unknown', for_ms: 2_000, at: 1 }]);
    await run(async () => {
      const { data: upid } = await ask('POST', CLONE, cloneTo(300));
      const status = () => ask('GET', `/nodes/pve1/tasks/${encodeURIComponent(String(upid))}/status`);
      expect(await status()).toMatchObject({ status: 400, errors: { upid: 'no such task' } });
      await clock.sleep(1_000);
      expect(await status()).toMatchObject({ status: 400 });
      await clock.sleep(1_000);
      expect(await status()).toMatchObject({ status: 200 });
    });
  });
});

describe('conditions of the cluster', () => {
  it('include a full disk, which fails what needs room until there is room again', async () => {
    const { run, finish, clock } = scene([{ kind: 'disk-full', storage: 'local', at: 1, for_ms: 30_000 }]);
    await run(async () => {
      expect(await finish('POST', CLONE, cloneTo(300))).toMatch(
        /^clone failed: .*(No space left on device|exit code 1)/,
      );
      await clock.sleep(30_000);
      expect(await finish('POST', CLONE, cloneTo(300))).toBe('OK');
    });
  });

  it('include a silent agent, which answers again after its time', async () => {
    const { run, ask, finish, clock } = scene([{ kind: 'agent-silent', at: 2, for_ms: 20_000 }]);
    await run(async () => {
      expect(await finish('POST', '/nodes/pve1/qemu/9100/clone', cloneTo(300))).toBe('OK');
      expect(await finish('POST', '/nodes/pve1/qemu/300/status/start')).toBe('OK');
      await clock.sleep(60_000);
      const ping = () => ask('POST', '/nodes/pve1/qemu/300/agent/ping');
      expect(await ping()).toMatchObject({ status: 200 });
      expect(await ping()).toMatchObject({ status: 500, reason: 'QEMU guest agent is not running' });
      await clock.sleep(20_000);
      expect(await ping()).toMatchObject({ status: 200 });
    });
  });
});

describe('strangers', () => {
  it('edit a configuration while a client changes it', async () => {
    const { run, ask } = scene([{ kind: 'stranger-edit', set: { cores: '7' }, match: { method: 'PUT' }, at: 1 }]);
    await run(async () => {
      const { data } = await ask('GET', CONFIG);
      const digest = (data as { digest: string }).digest;
      expect(await ask('PUT', CONFIG, { memory: '512', digest })).toMatchObject({
        status: 500,
        reason: 'checksum mismatch (file change by other user?)',
      });
      expect(await ask('GET', CONFIG)).toMatchObject({ data: { cores: 7, memory: '256' } });
    });
  });

  it('lock a VM for the time of a backup', async () => {
    const { run, ask, clock } = scene([{ kind: 'stranger-lock', at: 1, for_ms: 60_000 }]);
    await run(async () => {
      expect(await ask('PUT', CONFIG, { cores: '2' })).toMatchObject({ status: 500, reason: 'VM is locked (backup)' });
      await clock.sleep(60_000);
      expect(await ask('PUT', CONFIG, { cores: '2' })).toMatchObject({ status: 200 });
    });
  });

  it('take an id that was free a moment ago', async () => {
    const { run, ask } = scene([{ kind: 'stranger-id', at: 1 }]);
    await run(async () => {
      expect(await ask('POST', CLONE, cloneTo(300))).toMatchObject({
        status: 500,
        reason: 'unable to create VM 300: config file already exists',
      });
      expect(await ask('GET', '/nodes/pve1/qemu/300/config')).toMatchObject({ data: { name: 'another-clients-300' } });
    });
  });
});

describe('reserved names', () => {
  it('make a clone fail half-way and leave nothing: fail-clone-…', async () => {
    const { run, finish, simulator } = scene([]);
    await run(async () => {
      expect(await finish('POST', CLONE, cloneTo(300, 'fail-clone-web'))).toBe(
        'clone failed: this name fails on purpose',
      );
      expect(simulator.world.vms.has(300)).toBe(false);
      expect(await finish('POST', CLONE, cloneTo(300, 'web'))).toBe('OK');
    });
  });

  it('refuse every change but a deletion: locked-…', async () => {
    const { run, ask, finish } = scene([]);
    await run(async () => {
      expect(await finish('POST', CLONE, cloneTo(300, 'locked-db'))).toBe('OK');
      expect(await ask('PUT', '/nodes/pve1/qemu/300/config', { cores: '2' })).toMatchObject({
        reason: 'VM is locked (backup)',
      });
      expect(await finish('POST', '/nodes/pve1/qemu/300/status/start')).toBe('VM is locked (backup)');
      expect(await finish('DELETE', '/nodes/pve1/qemu/300')).toBe('OK');
    });
  });
});

describe('plans', () => {
  /** A little of everything, whatever it answers. */
  async function story({ ask, clock, simulator }: Scene): Promise<string[]> {
    const told: string[] = [];
    for (let index = 0; index < 12; index++) {
      const answers = [
        ask('POST', CLONE, cloneTo(300 + index)),
        ask('PUT', CONFIG, { cores: String(1 + (index % 4)) }),
        ask('GET', '/cluster/resources'),
      ];
      for (const outcome of await Promise.allSettled(answers)) {
        told.push(outcome.status === 'fulfilled' ? `${outcome.value.status} ${outcome.value.reason}` : 'cut');
      }
      await clock.sleep(5_000);
    }
    for (const task of simulator.world.tasks.values()) told.push(`${task.type} ${task.exitStatus}`);
    return told;
  }

  it('give the same result for the same seed and different ones for different seeds', async () => {
    const tell = (seed: number) => {
      const set = scene([], seededFaults(seededRandom(seed), { density: 1 }));
      return set.run(() => story(set));
    };
    const first = await tell(7);
    expect(await tell(7)).toEqual(first);
    expect(await tell(8)).not.toEqual(first);
  });

  it('leave other kinds out for every seed', () => {
    const kindsOf = (seed: number) => seededRules(seededRandom(seed)).map((rule) => rule.kind);
    const sets = Array.from({ length: 40 }, (_, seed) => kindsOf(seed));
    expect(new Set(sets.map(String)).size).toBeGreaterThan(30);
    const all = new Set(sets.flat());
    for (const kinds of sets) expect(kinds.length).toBeLessThan(all.size);
  });

  it('are data: rules survive JSON', () => {
    const rules = seededRules(seededRandom(3), { density: 1 });
    expect(ruleFaults(JSON.parse(JSON.stringify(rules))).rules).toEqual(ruleFaults(rules).rules);
  });

  it('stop on request', async () => {
    const set = scene([{ kind: 'refuse' }]);
    await set.run(async () => {
      expect(await set.ask('GET', '/version')).toMatchObject({ status: 500 });
      set.plan.stop();
      expect(await set.ask('GET', '/version')).toMatchObject({ status: 200 });
      expect(set.plan.strikes).toEqual([{ kind: 'refuse', what: 'GET /version', at: set.clock.now() }]);
    });
  });

  it('strike at most once in a period when the rule says so', async () => {
    const { run, ask, clock } = scene([{ kind: 'refuse', every_ms: 10_000 }]);
    await run(async () => {
      const statuses: number[] = [];
      for (let index = 0; index < 5; index++) {
        statuses.push((await ask('GET', '/version')).status);
        await clock.sleep(4_000);
      }
      expect(statuses).toEqual([500, 200, 200, 500, 200]);
    });
  });
});
