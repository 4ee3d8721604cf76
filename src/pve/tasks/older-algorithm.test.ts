import { describe, expect, it } from 'vitest';
import type { WireRequest, WireResponse } from '../../base/transport.ts';
import type { Pve } from '../client.ts';
import { errorOf, testClient } from '../testing/client.ts';
import { ok } from '../testing/scripted-transport.ts';
import { toNodeName } from '../wire/ids.ts';
import { printUpid, type Upid } from '../wire/upid.ts';

/**
 * Why tasks are not waited for by the node's list of tasks. Two clones of template 9000 run at once; the first one fails
 * after 20 s, the second one succeeds after 5 s. In the list both are "qmclone 9000": the new id stands nowhere in it.
 */
const SECOND_MS = 1000;
const clones = [
  { newid: 101, endsAfterMs: 20 * SECOND_MS, exit: 'clone failed: unable to parse volume' },
  { newid: 102, endsAfterMs: 5 * SECOND_MS, exit: 'OK' },
];

function nodeWithTwoClones() {
  const tasks = new Map<Upid, { startedAt: number; endsAt: number; exit: string }>();
  const client = testClient((request: WireRequest): WireResponse => {
    const now = client.clock.now();
    if (request.method === 'POST') {
      const newid = Number(new URLSearchParams(String(request.body)).get('newid'));
      const clone = clones.find((each) => each.newid === newid);
      const upid = printUpid({
        node: toNodeName('pve1'),
        pid: 5_000 + tasks.size,
        processStartTicks: 1,
        startTimeSeconds: 1,
        type: 'qmclone',
        id: '9000',
        user: 'deploy@pve!ci',
      });
      tasks.set(upid, { startedAt: now, endsAt: now + (clone?.endsAfterMs ?? 0), exit: clone?.exit ?? '' });
      return ok(upid);
    }
    const target = decodeURIComponent(request.target);
    const entries = [...tasks].map(([upid, task]) => ({ upid, ...task, over: now >= task.endsAt }));
    const one = entries.find(({ upid }) => target.includes(upid));
    if (one && target.includes('/status')) {
      return ok({
        upid: one.upid,
        status: one.over ? 'stopped' : 'running',
        ...(one.over && { exitstatus: one.exit }),
      });
    }
    if (one) return ok([{ n: 1, t: `TASK ERROR: ${one.exit}` }], { total: 1 });
    // The list: by default only finished tasks, newest first.
    const finished = entries.filter(({ over }) => over).reverse();
    return ok(
      finished.map(({ upid, exit, startedAt, endsAt }) => ({
        upid,
        node: 'pve1',
        type: 'qmclone',
        id: '9000',
        user: 'deploy@pve',
        starttime: startedAt / SECOND_MS,
        endtime: endsAt / SECOND_MS,
        status: exit,
      })),
    );
  });
  return client;
}

/** The older way: ask for the list until a clone of the template stands in it, and take that one's status. */
async function waitByTaskList(pve: Pve, pause: () => Promise<void>): Promise<string | undefined> {
  for (;;) {
    const list = await pve.node('pve1').tasks.list({ vmid: 9000 });
    const found = list.find(({ type }) => type === 'qmclone');
    if (found) return found.status;
    await pause();
  }
}

describe('two clones of one template', () => {
  it('are mistaken for each other by the list of tasks: the failing one is reported as done', async () => {
    const { clock, pve } = nodeWithTwoClones();
    const verdict = await clock.run(async () => {
      const template = pve.node('pve1').vm(9000);
      await Promise.all(clones.map(({ newid }) => template.clone({ newid })));
      return waitByTaskList(pve, () => clock.sleep(2 * SECOND_MS));
    });
    // It was waiting for 101, which goes on for another 14 s and then fails.
    expect(verdict).toBe('OK');
  });

  it('are told apart by their UPIDs', async () => {
    const { clock, pve } = nodeWithTwoClones();
    const upids = await clock.run(() =>
      Promise.all(clones.map(({ newid }) => pve.node('pve1').vm(9000).clone({ newid }))),
    );
    const [first, second] = upids as [Upid, Upid];
    const begin = clock.now();
    const waitForSecond = clock.run(() => pve.tasks.wait(second));
    expect((await waitForSecond).outcome).toBe('ok');
    expect(clock.now() - begin).toBeLessThan(8 * SECOND_MS);
    const error = await errorOf(clock, () => pve.tasks.wait(first));
    expect(error.code).toBe('TASK_FAILED');
    expect(error.diagnostic.detail).toContain('clone failed: unable to parse volume');
    expect(clock.now() - begin).toBeGreaterThanOrEqual(20 * SECOND_MS);
  });
});
