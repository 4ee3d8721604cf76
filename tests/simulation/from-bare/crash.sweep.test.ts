/**
 * Runs from a bare host are killed before and after the effect of each request and each line of the journal,
 * and the next run completes them: the same result, nothing created twice, nothing left behind.
 */
import { expect, it } from 'vitest';
import type { RunEnd, Scene } from '../engine/support/scene.ts';
import { crashes, type Story } from './support/crash.ts';
import { complaintsAfter, complaintsAfterDestroy } from './support/invariants.ts';
import { SOURCES, sentStack } from './support/sent-image.ts';
import { cloudStack, clusterStack, talosStack } from './support/stacks.ts';
import { clusterWorld, hostWorld } from './support/worlds.ts';

const cloud = cloudStack();
const changed = cloudStack({ cores: 4 });
const talos = talosStack();
const retold = talosStack({ userData: 'machine: { type: controlplane } # let nobody read this' });
const cluster = clusterStack();
const sent = sentStack();

/** What has been fetched before is no longer in the list of tasks. */
async function aged(scene: Scene): Promise<RunEnd> {
  for (const [upid, { type }] of scene.world.tasks) if (type === 'download') scene.world.tasks.delete(upid);
  return scene.plan(cloud);
}

const STORIES: readonly Story[] = [
  {
    name: 'an image becomes a template and two linked clones',
    world: hostWorld,
    run: (scene) => scene.apply(cloud),
    complaints: (scene, before) => complaintsAfter(scene, cloud, before),
    tasks: ['qmcreate', 'qmtemplate', 'qmclone', 'qmstart', 'resize'],
  },
  {
    name: 'an ISO installs itself and is cloned, with custom user-data',
    world: hostWorld,
    run: (scene) => scene.apply(talos),
    complaints: (scene, before) => complaintsAfter(scene, talos, before),
    tasks: ['qmcreate', 'qmstart', 'qmtemplate', 'qmclone'],
  },
  {
    name: 'a template on each node of a cluster',
    world: clusterWorld,
    run: (scene) => scene.apply(cluster),
    complaints: (scene, before) => complaintsAfter(scene, cluster, before),
    tasks: ['qmcreate', 'qmtemplate', 'qmclone', 'qmstart'],
  },
  {
    name: 'a recipe changes while linked clones stand',
    world: hostWorld,
    earlier: [(scene) => scene.apply(cloud)],
    run: (scene) => scene.apply(changed),
    complaints: (scene, before) => complaintsAfter(scene, changed, before, { retired: 1 }),
    tasks: ['qmcreate', 'qmtemplate'],
  },
  {
    name: 'custom cloud-init files change',
    world: hostWorld,
    earlier: [(scene) => scene.apply(talos)],
    run: (scene) => scene.apply(retold),
    complaints: (scene, before) => complaintsAfter(scene, retold, before),
    tasks: ['imgcopy'],
  },
  {
    name: 'an image that is sent becomes a template',
    world: hostWorld,
    options: { sources: SOURCES },
    run: (scene) => scene.apply(sent),
    complaints: (scene, before) => complaintsAfter(scene, sent, before),
    tasks: ['qmcreate', 'qmtemplate', 'qmclone'],
  },
  {
    name: 'an image is downloaded again',
    world: hostWorld,
    earlier: [(scene) => scene.apply(cloud), (scene) => aged(scene)],
    run: (scene) => scene.apply(cloud, { replace: ['image.noble'] }),
    complaints: (scene, before) => complaintsAfter(scene, cloud, before),
    tasks: [],
  },
  {
    name: 'everything is destroyed, with what was superseded',
    world: hostWorld,
    earlier: [(scene) => scene.apply(cloud), (scene) => scene.apply(changed)],
    run: (scene) => scene.destroy(changed, { all: true }),
    complaints: (scene, before) => complaintsAfterDestroy(scene, changed, before),
    tasks: ['qmdestroy', 'imgdel'],
  },
  {
    name: 'a stack with seeds is destroyed',
    world: hostWorld,
    earlier: [(scene) => scene.apply(talos)],
    run: (scene) => scene.destroy(talos, { all: true }),
    complaints: (scene, before) => complaintsAfterDestroy(scene, talos, before),
    tasks: ['qmdestroy'],
  },
];

it.each(STORIES)('resumes in the next run after a kill at any point: $name', async (story) => {
  const failures = await crashes(story);
  expect(failures.slice(0, 20)).toEqual([]);
});
