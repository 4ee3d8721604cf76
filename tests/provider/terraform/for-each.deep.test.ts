/** VMs keyed by their names: one is added, one removed, one renamed, and the others are not touched. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ref, vm } from './support/hcl.ts';
import { HOSTS } from './support/hosts.ts';
import { problems, Scene } from './support/scene.ts';

interface Member {
  readonly vmid: number;
  readonly cores: number;
  readonly tags?: readonly string[];
}

const THREE = {
  alpha: { vmid: 410, cores: 1 },
  beta: { vmid: 411, cores: 2, tags: ['db'] },
  gamma: { vmid: 412, cores: 1 },
} satisfies Record<string, Member>;

/** A variable, as modules have it, so that the host knows the type of every member. */
const configuration = (members: Readonly<Record<string, Member>>, ...more: string[]) => [
  `variable "vms" {
  type    = map(object({ vmid = number, cores = number, tags = optional(list(string)) }))
  default = ${JSON.stringify(members)}
}
`,
  vm('all', {
    for_each: ref('var.vms'),
    name: ref('each.key'),
    node: 'pve1',
    vmid: ref('each.value.vmid'),
    clone: { template: 'ubuntu-24.04' },
    memory: '1GiB',
    cpu: { cores: ref('each.value.cores') },
    tags: ref('each.value.tags'),
  }),
  ...more,
];

const moved = (from: string, to: string) =>
  `moved {\n  from = proxwright_vm.all["${from}"]\n  to   = proxwright_vm.all["${to}"]\n}\n`;

describe.each(HOSTS)('VMs by for_each under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host });
  });

  afterEach(() => scene.close());

  const planned = async (...blocks: string[]) => {
    await scene.write(...blocks);
    return scene.changes();
  };

  const names = () =>
    scene
      .ours()
      .map(({ vmid, name }) => `${vmid} ${name}`)
      .sort();

  it('are added, removed and renamed one by one', async () => {
    await scene.settle(...configuration(THREE));
    expect(names()).toEqual(['410 alpha', '411 beta', '412 gamma']);
    expect(scene.configOf('beta').get('cores')).toBe('2');
    expect(scene.configOf('beta').get('tags')).toBe('db');

    const four = { ...THREE, delta: { vmid: 413, cores: 1 } };
    expect(await planned(...configuration(four))).toMatchObject([
      { address: 'proxwright_vm.all["delta"]', actions: ['create'] },
    ]);
    await scene.settle(...configuration(four));

    const { alpha: _, ...rest } = four;
    expect(await planned(...configuration(rest))).toMatchObject([
      { address: 'proxwright_vm.all["alpha"]', actions: ['delete'] },
    ]);
    await scene.settle(...configuration(rest));
    expect(names()).toEqual(['411 beta', '412 gamma', '413 delta']);

    // Another key under `moved` is the same VM, and the name that follows from the key is changed in place.
    const { beta, ...others } = rest;
    const renamed = { ...others, omega: beta };
    const { id } = (await scene.state()).get('proxwright_vm.all["beta"]') ?? {};
    expect(await planned(...configuration(renamed, moved('beta', 'omega')))).toMatchObject([
      { address: 'proxwright_vm.all["omega"]', actions: ['update'], changed: ['name'] },
    ]);
    await scene.settle(...configuration(renamed, moved('beta', 'omega')));
    expect(names()).toEqual(['411 omega', '412 gamma', '413 delta']);
    expect((await scene.state()).get('proxwright_vm.all["omega"]')).toMatchObject({ id, vmid: 411 });
    expect(scene.configOf('omega').get('description')).toContain('vm.omega');
    // The block is no longer needed.
    await scene.settle(...configuration(renamed));
    expect([scene.taskCount('qmclone'), scene.taskCount('qmdestroy'), scene.orphans()]).toEqual([4, 1, []]);

    expect(problems(await scene.destroy())).toEqual([]);
    expect(scene.ours()).toEqual([]);
  });

  it('are another VM under another key where no block says that it moved', async () => {
    await scene.settle(...configuration(THREE));
    const { beta, ...others } = THREE;
    const renamed = configuration({ ...others, omega: beta });
    const changes = await planned(...renamed);
    expect(changes.map(({ address, actions }) => `${address} ${actions}`).sort()).toEqual([
      'proxwright_vm.all["beta"] delete',
      'proxwright_vm.all["omega"] create',
    ]);
    const applied = await scene.apply();
    // The host does not wait for the removal before the creation, so the id may still be taken.
    if (applied.code !== 0) {
      expect(problems(applied)).toEqual([expect.stringContaining('Id 411 belongs to "beta" on pve1')]);
      expect(JSON.stringify(applied.diagnostics)).toContain('add a moved block');
    }
    await scene.settle(...renamed);
    expect(names()).toEqual(['410 alpha', '411 omega', '412 gamma']);
    expect([scene.taskCount('qmclone'), scene.taskCount('qmdestroy'), scene.orphans()]).toEqual([4, 1, []]);
  });
});
