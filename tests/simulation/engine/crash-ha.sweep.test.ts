/** Runs that hand a VM over to the HA manager, or change what it was told, are killed everywhere. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { crashEverywhere } from './support/crash-everywhere.ts';
import { complaintsAfter, failuresOf } from './support/invariants.ts';
import { Scene } from './support/scene.ts';

const stack = (more: string) => `
version: 1
stack: lab
vms:
  web: { name: web, vmid: 401, node: pve1, clone: { template: ubuntu-24.04 }, ${more} }
`;
const MANAGED = stack('ha: { max_restart: 3, comment: "kept alive" }');

const resource = (scene: Scene) => Object.fromEntries(scene.world.ha.resources.get('vm:401') ?? []);

describe('a run that is killed', () => {
  const CHANGED = stack('ha: { max_restart: 0, max_relocate: 2 }');
  const isLike = (scene: Scene, expected: Readonly<Record<string, string>>) =>
    isDeepStrictEqual(resource(scene), expected) ? [] : [`the resource is ${JSON.stringify(resource(scene))}`];

  it('leaves nothing that the next run does not correct while it hands a VM over', async () => {
    const failures = await crashEverywhere({
      name: 'hand over',
      from: undefined,
      run: (scene) => scene.apply(MANAGED),
      complaints: async (scene, before) => [
        ...(await complaintsAfter(scene, MANAGED, before)),
        ...isLike(scene, { state: 'started', max_restart: '3', comment: 'kept alive' }),
      ],
      tasks: ['qmclone', 'qmstart'],
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('leaves nothing that the next run does not correct while it changes a resource', async () => {
    const begun = new Scene();
    expect(failuresOf(await begun.apply(MANAGED))).toEqual([]);
    await begun.clock.advance(120_000);
    const failures = await crashEverywhere({
      name: 'change of HA',
      from: await begun.snapshot(),
      run: (scene) => scene.apply(CHANGED),
      complaints: async (scene, before) => [
        ...(await complaintsAfter(scene, CHANGED, before)),
        ...isLike(scene, { state: 'started', max_restart: '0', max_relocate: '2', comment: 'kept alive' }),
      ],
      tasks: ['qmclone', 'qmstart'],
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });
});
