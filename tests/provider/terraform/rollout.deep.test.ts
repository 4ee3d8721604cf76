/** Many VMs in one run: limits and pauses hold whatever the host does concurrently, and a refresh costs little. */
import { afterEach, describe, expect, it } from 'vitest';
import { buildWorld } from '../../../src/simulator/index.ts';
import { LAB_WORLD } from '../../simulation/engine/support/lab-world.ts';
import { effectiveTasks } from '../../support/effective-tasks.ts';
import { ref, SMALL, settings, vm } from './support/hcl.ts';
import { ONE_HOST } from './support/hosts.ts';
import { problems, Scene } from './support/scene.ts';

const STAGGER_MS = 30_000;
/** A request may be late on a busy machine, so the pause has a tolerance: a second of real time at this speed. */
const MERCY_MS = 15_000;
const SPEED = 15;

/** 1,400 MB at 50 MB a second: long enough for clones to meet. */
function slowWorld({ now }: { readonly now: number }) {
  const { storages = {} } = LAB_WORLD;
  const slow = { ...storages['local-lvm'], bandwidth: '50M' };
  return buildWorld({ ...LAB_WORLD, storages: { ...storages, 'local-lvm': slow } }, { now, file: 'slow' });
}

let scene: Scene;
afterEach(() => scene.close());

function clones(): { start: number; end: number }[] {
  return effectiveTasks(scene.world)
    .filter(({ type }) => type === 'qmclone')
    .map(({ startedAt, endedAt }) => ({ start: startedAt, end: endedAt ?? Number.POSITIVE_INFINITY }))
    .sort((a, b) => a.start - b.start);
}

const mostAtOnce = (spans: readonly { start: number; end: number }[]) =>
  Math.max(...spans.map(({ start }) => spans.filter((other) => other.start <= start && start < other.end).length));

function many(count: number, attributes: object = {}): string {
  return vm('web', { count, ...SMALL, name: `web-${ref('count.index + 1')}`, ...attributes });
}

describe.each(ONE_HOST)('five VMs under $name $version', (host) => {
  it.each([1, 3, 10])('are created with a pause between them with -parallelism=%i', async (parallelism) => {
    scene = await Scene.open({ host, speed: SPEED });
    const rollout = { stagger: '30s', limits: { clones_per_node: 5, clones_per_storage: 5 } };
    await scene.workspace.write('main.tf', [settings({ rollout }), many(5)].join('\n'));
    expect(problems(await scene.apply(`-parallelism=${parallelism}`))).toEqual([]);
    const starts = clones().map(({ start }) => start);
    expect(starts).toHaveLength(5);
    const gaps = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(STAGGER_MS - MERCY_MS);
    expect((starts.at(-1) ?? 0) - (starts[0] ?? 0)).toBeGreaterThan(4 * STAGGER_MS - MERCY_MS);
    expect((await scene.plan()).code).toBe(0);
  });

  it.each([
    [10, { clones_per_node: 2, clones_per_storage: 5 }, 2],
    [10, { clones_per_node: 5, clones_per_storage: 1 }, 1],
    [1, { clones_per_node: 5, clones_per_storage: 5 }, 1],
    [10, { clones_per_node: 5, clones_per_storage: 5 }, 5],
  ])('are cloned at the limit with -parallelism=%i and %j: at most %i at a time', async (parallelism, limits, most) => {
    scene = await Scene.open({ host, world: slowWorld });
    // The first clones wait for each other at the server: so many are allowed, and the limits are not met by chance.
    let met = 0;
    let open = () => {};
    const isOpen = new Promise<void>((resolve) => {
      open = resolve;
    });
    scene.before = async (_, line) => {
      if (!/^POST .*\/clone$/.test(line) || met === most) return undefined;
      met++;
      if (met === most) open();
      await isOpen;
      return undefined;
    };
    await scene.workspace.write('main.tf', [settings({ rollout: { limits } }), many(5)].join('\n'));
    expect(problems(await scene.apply(`-parallelism=${parallelism}`))).toEqual([]);
    expect(clones()).toHaveLength(5);
    expect(mostAtOnce(clones())).toBeLessThanOrEqual(most);
    expect(met).toBe(most);
    expect(new Set(scene.ours().map(({ vmid }) => vmid)).size).toBe(5);
  });

  it('are replaced side by side under the ids they have', async () => {
    scene = await Scene.open({ host });
    await scene.write(many(5, { vmid: ref('600 + count.index') }));
    expect(problems(await scene.apply())).toEqual([]);
    const replace = [0, 1, 2, 3, 4].map((index) => `-replace=proxwright_vm.web[${index}]`);
    expect(problems(await scene.apply(...replace))).toEqual([]);
    expect(
      scene
        .ours()
        .map(({ vmid }) => vmid)
        .sort(),
    ).toEqual([600, 601, 602, 603, 604]);
    expect([(await scene.plan()).code, scene.orphans()]).toEqual([0, []]);
  });
});

describe.each(ONE_HOST)('fifty VMs under $name $version', (host) => {
  it('are made, looked at with one request each and a few for all, and destroyed', async () => {
    scene = await Scene.open({ host });
    const lookedAt = async () => {
      scene.requests.length = 0;
      const planned = await scene.plan();
      expect([planned.code, problems(planned)]).toEqual([0, []]);
      return scene.requests.length;
    };
    const rollout = { limits: { clones_per_node: 10, clones_per_storage: 10, destroys: 10, vms: 20 } };
    const write = (count: number) =>
      scene.workspace.write('main.tf', [settings({ rollout }), many(count, { power: 'stopped' })].join('\n'));
    await write(1);
    expect(problems(await scene.apply())).toEqual([]);
    const one = await lookedAt();
    await write(50);
    expect(problems(await scene.apply('-parallelism=50'))).toEqual([]);
    expect(scene.ours()).toHaveLength(50);
    const fifty = await lookedAt();
    expect(fifty - one).toBe(49);
    expect(one).toBeLessThanOrEqual(1 + 2 + 4);
    expect(problems(await scene.destroy('-parallelism=50'))).toEqual([]);
    expect([scene.ours(), scene.orphans()]).toEqual([[], []]);
  });
});
