/**
 * Why tasks are not waited for by the node's list of tasks. Two full clones of one template run at once: one into a storage
 * that is too small for it, one into a roomy one. In the list both are "qmclone" of the same template, and running ones
 * are not in it at all, so that the first to end is taken for whichever was meant.
 */
import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../src/base/errors.ts';
import type { Upid } from '../../src/pve/index.ts';
import { type ClientScene, clientScene, TEMPLATE } from './support/client-scene.ts';

const INTO_TINY = { newid: 301, storage: 'tiny', full: true };
const INTO_LOCAL = { newid: 302, storage: 'local', full: true };

type Verdict = 'done' | 'failed';

/** The older way: poll the list until it has a clone of the template, and take its status. */
async function waitByTaskList({ pve, clock }: ClientScene): Promise<Verdict> {
  for (;;) {
    const list = await pve.node('pve1').tasks.list({ vmid: TEMPLATE });
    const found = list.find(({ type }) => type === 'qmclone');
    if (found) return found.status === 'OK' ? 'done' : 'failed';
    await clock.sleep(2_000);
  }
}

async function waitByUpid({ pve }: ClientScene, upid: Upid): Promise<Verdict> {
  try {
    await pve.tasks.wait(upid);
    return 'done';
  } catch (thrown) {
    if (thrown instanceof ProxwrightError && thrown.code === 'NO_SPACE') return 'failed';
    throw thrown;
  }
}

/** Starts both clones and waits for each in the given way. */
function verdicts(scene: ClientScene, wait: (upid: Upid) => Promise<Verdict>): Promise<Verdict[]> {
  return scene.run(async () => {
    const upids = await Promise.all([INTO_TINY, INTO_LOCAL].map((params) => scene.vm(TEMPLATE).clone(params)));
    return Promise.all(upids.map(wait));
  });
}

function truth({ world }: ClientScene): Verdict[] {
  return [INTO_TINY, INTO_LOCAL].map(({ newid }) => (world.vms.has(newid) ? 'done' : 'failed'));
}

describe('two clones of one template', () => {
  it('are mistaken for each other by the list of tasks: the one that works is reported as failed', async () => {
    const scene = clientScene([]);
    const reported = await verdicts(scene, () => waitByTaskList(scene));
    await scene.clock.advance(600_000);
    expect(truth(scene)).toEqual(['failed', 'done']);
    expect(reported).toEqual(['failed', 'failed']);
  });

  it('are mistaken for each other also one after the other: the one that fails is reported as done', async () => {
    const scene = clientScene([]);
    const begin = (params: typeof INTO_TINY) => scene.vm(TEMPLATE).clone(params);
    const [byList, byUpid] = await scene.run(async () => {
      await waitByUpid(scene, await begin(INTO_LOCAL));
      await scene.clock.sleep(10_000);
      const upid = await begin(INTO_TINY);
      return [await waitByTaskList(scene), await waitByUpid(scene, upid)];
    });
    expect(byList).toBe('done');
    expect(byUpid).toBe('failed');
    expect(truth(scene)).toEqual(['failed', 'done']);
  });

  it('are told apart by their UPIDs', async () => {
    const scene = clientScene([]);
    const reported = await verdicts(scene, (upid) => waitByUpid(scene, upid));
    expect(reported).toEqual(['failed', 'done']);
    expect(truth(scene)).toEqual(reported);
  });
});
