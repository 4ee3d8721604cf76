/** Waiting for fifty tasks at once: how many requests that costs, and that each wait is independent. */
import { describe, expect, it } from 'vitest';

import { DEFAULT_LIMITS, type Upid } from '../../src/pve/index.ts';
import type { FaultRuleInput } from '../../src/simulator/index.ts';
import { type ClientScene, clientScene } from './support/client-scene.ts';

const COUNT = 50;
const { perSecond } = DEFAULT_LIMITS.polls;

/** Work of a minute each, so that all of them are under way together: guests that ignore the power button. */
async function startTasks({ simulator }: ClientScene): Promise<Upid[]> {
  return Array.from({ length: COUNT }, (_, index) => {
    const upid = simulator.runtime.tasks.fork('pve1', 'qmshutdown', String(1000 + index), 'root@pam!test', (task) =>
      task.sleep(60_000 + index * 100),
    );
    return upid as Upid;
  });
}

function pollsOf({ requests }: ClientScene, upid = ''): number[] {
  return requests.filter(({ line }) => line.endsWith('/status') && line.includes(upid)).map(({ at }) => at);
}

function mostWithinASecond(times: readonly number[]): number {
  return Math.max(...times.map((start) => times.filter((at) => at >= start && at < start + 1000).length));
}

describe('fifty tasks waited for at once', () => {
  it.each<[string, FaultRuleInput[]]>([
    ['all is well', []],
    ['every other question is cut off', [{ kind: 'cut-before', match: { path: 'tasks/*/status' }, every: 2 }]],
    ['the daemon is away for a while', [{ kind: 'daemon-down', match: { path: 'tasks/*/status' }, at: 1 }]],
  ])('ask no more than the allowed number of questions in any second when %s', async (_, rules) => {
    const scene = clientScene(rules);
    const results = await scene.run(async () => {
      const upids = await startTasks(scene);
      return Promise.all(upids.map((upid) => scene.pve.tasks.wait(upid)));
    });
    expect(results.map(({ outcome }) => outcome)).toEqual(Array.from({ length: COUNT }, () => 'ok'));
    const most = mostWithinASecond(pollsOf(scene));
    expect(most).toBeLessThanOrEqual(perSecond);
    // The bound is met, not undercut by far: otherwise this would prove nothing.
    expect(most).toBeGreaterThan(perSecond / 2);
  });

  it('are each asked about regularly', async () => {
    const scene = clientScene([]);
    const upids = await scene.run(async () => {
      const started = await startTasks(scene);
      await Promise.all(started.map((upid) => scene.pve.tasks.wait(upid)));
      return started;
    });
    const gaps = upids.flatMap((upid) => {
      const times = pollsOf(scene, upid);
      return times.slice(1).map((at, index) => at - (times[index] ?? at));
    });
    // A pause of 2 s, and then at most one turn of all the others.
    expect(Math.max(...gaps)).toBeLessThanOrEqual(2_000 + (COUNT / perSecond) * 1_000 + 100);
  });

  it('do not notice when one of them is given up', async () => {
    const scene = clientScene([]);
    const stop = new AbortController();
    const { upids, outcomes, stoppedAt } = await scene.run(async () => {
      const started = await startTasks(scene);
      const waits = started.map((upid, index) =>
        scene.pve.tasks.wait(upid, index === 7 ? { signal: stop.signal } : {}),
      );
      const settled = Promise.allSettled(waits);
      await scene.clock.sleep(20_000);
      stop.abort();
      const at = scene.clock.now();
      return { upids: started, outcomes: await settled, stoppedAt: at };
    });
    const [givenUp] = outcomes.splice(7, 1);
    expect(givenUp).toMatchObject({ status: 'rejected', reason: { code: 'CANCELED' } });
    expect(outcomes).toHaveLength(COUNT - 1);
    expect(outcomes.every(({ status }) => status === 'fulfilled')).toBe(true);
    expect(pollsOf(scene, upids[7]).filter((at) => at > stoppedAt)).toEqual([]);
    // Giving up is not stopping: the task itself continued to its end.
    expect(scene.world.tasks.get(upids[7] ?? '')?.exitStatus).toBe('OK');
  });
});
