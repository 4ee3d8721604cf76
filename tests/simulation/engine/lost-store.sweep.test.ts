/**
 * A shared store stops answering at any request of a run, with or without the effect of that request. The run stops and says
 * so, its machine keeps what the store did not receive, and the next run continues with nothing made twice: on the same
 * machine it sends what was kept first, on another one it looks in the cluster.
 */
import { describe, expect, it } from 'vitest';
import { pointsOf } from '../../support/depth.ts';
import { fiveVms, type Operation } from './support/crash-everywhere.ts';
import { beforehand, codesOf, complaintsAfter, complaintsAfterDestroy, failuresOf } from './support/invariants.ts';
import { STRANGERS } from './support/lab-world.ts';
import { differences, pictureOf } from './support/picture.ts';
import { GUEST_PASSWORD, Scene, TOKEN_SECRET } from './support/scene.ts';
import { MemoryS3 } from './support/shared-stores.ts';
import { FIVE_VMS, FIVE_VMS_CHANGED } from './support/stacks.ts';

const OTHERS = new Set<number>(STRANGERS);
const LEASE_MS = 60_000;

function begin({ from }: Pick<Operation, 'from'>) {
  let shared: MemoryS3 | undefined;
  const scene = new Scene({
    shared: (clock) => {
      shared = new MemoryS3(clock);
      return shared;
    },
    ...(from && { from }),
  });
  if (!shared) throw new Error('The scene has no store.');
  return { scene, shared, bucket: shared.bucket };
}

type Successor = 'here' | 'there';

async function lostEverywhere(operation: Operation, successor: Successor): Promise<string[]> {
  const { name, run, complaints, tasks } = operation;
  const counts = (scene: Scene) => tasks.map((type) => `${type} ${scene.tasks(type)}`).join('; ');
  const whole = begin(operation);
  const found = failuresOf(await run(whole.scene));
  const { requests } = whole.bucket;
  found.push(...(await complaints(whole.scene, beforehand(whole.scene))));
  const expected = pictureOf(whole.scene.world, OTHERS);
  const points = pointsOf(requests, 31, successor === 'here' ? 0 : 3);
  let kept = 0;
  for (const point of points) {
    const { scene, shared, bucket } = begin(operation);
    const strangers = beforehand(scene);
    bucket.cutAt = point;
    bucket.losesAnswer = point % 2 === 0;
    const end = await run(scene);
    const codes = codesOf(end);
    const isSaid = codes.some((code) => code === 'STATE_UNREACHABLE' || code === 'LOCK_LOST');
    // The last requests give the lock back; no other run waits for it.
    const wrong = isSaid || failuresOf(end).length === 0 ? [] : [`it said ${codes.length === 0 ? 'nothing' : codes}`];
    const outbox = shared.outboxOf('here');
    const files = await outbox.list('outbox/');
    const texts = await Promise.all(files.map(async (file) => (await outbox.read(file)) ?? ''));
    if (texts.length > 0) kept++;
    if (texts.some((text) => text.includes(TOKEN_SECRET) || text.includes(GUEST_PASSWORD)))
      wrong.push('a secret is kept');
    const requestsThen = scene.requests.length;
    if (point % 3 === 0 || successor === 'there') await scene.clock.advance(LEASE_MS + 1_000);
    if (scene.requests.length > requestsThen) wrong.push('it sent requests after its end');
    bucket.restore();
    scene.machine = successor;
    wrong.push(...(await complaints(scene, strangers)));
    wrong.push(...differences(pictureOf(scene.world, OTHERS), expected));
    if (counts(scene) !== counts(whole.scene)) wrong.push(`tasks: ${counts(scene)} instead of ${counts(whole.scene)}`);
    if (successor === 'here') wrong.push(...(await deliveredOnce(scene, files, texts)));
    else wrong.push(...(await droppedBy(scene, complaints, strangers)));
    if ((await outbox.list('outbox/')).length > 0) wrong.push('the outbox is not empty');
    found.push(...wrong.map((each) => `lost at request ${point} of ${requests}: ${each}`));
  }
  process.stdout.write(
    `${name}: the store was lost at ${points.length} of ${requests} requests; ${kept} kept events\n`,
  );
  if (kept === 0) found.push('nothing was ever kept, so nothing was tested');
  return found;
}

/** What was kept is in the journal of its run, each line once. */
async function deliveredOnce(scene: Scene, files: readonly string[], texts: readonly string[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const [index, file] of files.entries()) {
    const journal = await scene.look(() => scene.store.read(`runs/${file.slice('outbox/'.length)}`));
    const lines = (journal ?? '').split('\n');
    for (const line of (texts[index] ?? '').split('\n').slice(1, -1)) {
      const times = lines.filter((each) => each === line).length;
      if (times !== 1) wrong.push(`a kept event is ${times} times in the journal`);
    }
  }
  return wrong;
}

/** The first machine comes back when another one has resumed its run. */
async function droppedBy(
  scene: Scene,
  complaints: Operation['complaints'],
  strangers: ReturnType<typeof beforehand>,
): Promise<string[]> {
  scene.machine = 'here';
  return complaints(scene, strangers);
}

const APPLY: Operation = {
  name: 'apply',
  from: undefined,
  run: (scene) => scene.apply(FIVE_VMS),
  complaints: (scene, before) => complaintsAfter(scene, FIVE_VMS, before),
  tasks: ['qmclone', 'resize', 'qmconfig', 'qmstart'],
};

describe.each<Successor>(['here', 'there'])('a store that is lost before a next run %s', (successor) => {
  it('loses nothing at any request of an apply', async () => {
    expect((await lostEverywhere(APPLY, successor)).slice(0, 20)).toEqual([]);
  });

  it('loses nothing at any request of an update', async () => {
    const found = await lostEverywhere(
      {
        name: 'update',
        from: await fiveVms(),
        run: (scene) => scene.apply(FIVE_VMS_CHANGED),
        complaints: (scene, before) => complaintsAfter(scene, FIVE_VMS_CHANGED, before),
        tasks: ['qmclone', 'resize', 'qmconfig', 'qmshutdown', 'qmstart'],
      },
      successor,
    );
    expect(found.slice(0, 20)).toEqual([]);
  });

  it('loses nothing at any request of a destroy', async () => {
    const found = await lostEverywhere(
      {
        name: 'destroy',
        from: await fiveVms(),
        run: (scene) => scene.destroy(FIVE_VMS),
        complaints: (scene, before) => complaintsAfterDestroy(scene, FIVE_VMS, before),
        tasks: ['qmstop', 'qmdestroy'],
      },
      successor,
    );
    expect(found.slice(0, 20)).toEqual([]);
  });
});
