/** Nodes that the plan chooses: the host shows them, apply keeps them although the cluster has changed, and no VM moves later. */
import { afterEach, describe, expect, it } from 'vitest';
import { data, ref, resource, SMALL } from './support/hcl.ts';
import { HOSTS } from './support/hosts.ts';
import { problems, Scene } from './support/scene.ts';

let scene: Scene;
afterEach(() => scene.close());

const CONFIGURATION = [
  data('proxwright_placement', 'web', {
    groups: {
      web: {
        names: ['web-1', 'web-2', 'web-3'],
        memory: '1GiB',
        clone: { template: 'ubuntu-24.04' },
        placement: { keep_free: '5%' },
      },
    },
  }),
  resource('proxwright_vm', 'web', {
    ...SMALL,
    for_each: ref('data.proxwright_placement.web.node'),
    name: ref('each.key'),
    node: ref('each.value'),
  }),
];

interface ShownPlan {
  readonly resource_changes: readonly {
    readonly change: { readonly after: { readonly name: string; readonly node: string } };
  }[];
}

async function plannedNodes(file: string): Promise<Record<string, string>> {
  const { stdout } = await scene.run(['show', '-json', file]);
  const { resource_changes: changes } = JSON.parse(stdout) as ShownPlan;
  return Object.fromEntries(changes.map(({ change: { after } }) => [after.name, after.node]));
}

const nodesOfOurs = () => Object.fromEntries(scene.ours().map(({ name, node }) => [name, node]));

describe.each(HOSTS)('nodes that proxwright_placement chooses, under $name $version', (host) => {
  it('are in the plan, hold at apply although another node is the emptier one by then, and stay', async () => {
    scene = await Scene.open({ host });
    await scene.write(...CONFIGURATION);
    expect(problems(await scene.plan('-out=plan.bin'))).toEqual([]);
    const planned = await plannedNodes('plan.bin');
    expect(Object.keys(planned)).toEqual(['web-1', 'web-2', 'web-3']);
    const counts = ['pve1', 'pve2'].map((node) => Object.values(planned).filter((each) => each === node).length);
    expect(counts.sort()).toEqual([1, 2]);

    // A guest of another client takes room where the first VM is to be.
    const { outside: pve } = scene;
    const crowded = pve.node(planned['web-1'] ?? '');
    await pve.tasks.wait(await crowded.vms.create({ vmid: 851, name: 'others-big', memory: 16_384 }));
    await pve.tasks.wait(await crowded.vm(851).status.start());
    await expect
      .poll(async () => {
        await scene.plan('-out=other.bin');
        return plannedNodes('other.bin');
      })
      .not.toEqual(planned);

    expect(problems(await scene.run(['apply', '-json', '-input=false', 'plan.bin']))).toEqual([]);
    expect(nodesOfOurs()).toEqual(planned);
    expect(await scene.changes()).toEqual([]);
  });

  it('follow a VM that another client migrated: nothing moves back', async () => {
    scene = await Scene.open({ host });
    await scene.settle(...CONFIGURATION);
    const [first] = scene.ours();
    if (!first) throw new Error('there is no VM');
    const { outside: pve } = scene;
    const target = first.node === 'pve1' ? 'pve2' : 'pve1';
    const move = { target, online: true, 'with-local-disks': true };
    await pve.tasks.wait(await pve.node(first.node).vm(first.vmid).migrate(move), { timeoutMs: 600_000 });
    expect(await scene.changes()).toEqual([
      { address: `proxwright_vm.web["${first.name}"]`, actions: ['update'], changed: ['node'] },
    ]);
    scene.requests.length = 0;
    await scene.settle(...CONFIGURATION);
    expect(scene.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
    expect(nodesOfOurs()[first.name]).toBe(target);
  });
});
