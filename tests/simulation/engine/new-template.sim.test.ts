/** A template without a name in the list of the cluster: Proxmox fills in names some seconds late, and not from offline nodes. */
import { expect, it } from 'vitest';
import { createPve, parseToken } from '../../../src/pve/index.ts';
import { Scene, TOKEN_SECRET } from './support/scene.ts';

const STACK = `version: 1
stack: lab
vms:
  web: { name: web, node: pve1, guest: plain, clone: { template: fresh } }
`;

/** Another client makes a template a moment before the plan. */
async function withFreshTemplate(): Promise<Scene> {
  const scene = new Scene();
  const pve = createPve({
    transport: scene.simulator.transport(),
    credentials: parseToken(`root@pam!admin=${TOKEN_SECRET}`),
    clock: scene.clock,
  });
  await scene.clock.run(async () => {
    const node = pve.node('pve1');
    await pve.tasks.wait(await node.vm(9000).clone({ newid: 9100, name: 'fresh', full: true }));
    await pve.tasks.wait(await node.vm(9100).template());
  });
  return scene;
}

it('is found by its name as soon as it exists', async () => {
  const scene = await withFreshTemplate();
  expect(await scene.plan(STACK)).toMatchObject({ kind: 'ended' });
});

it('is mentioned as a guest without a name while its node is offline', async () => {
  const scene = new Scene();
  const node = scene.world.nodes.get('pve2');
  if (!node) throw new Error('the lab has two nodes');
  scene.world.nodes.set('pve2', { ...node, online: false });
  const end = await scene.plan(STACK.replace('template: fresh', 'template: elsewhere'));
  expect(end).toMatchObject({
    kind: 'refused',
    problems: [
      {
        code: 'MISSING_REFERENCE',
        detail: expect.stringMatching(/No visible VM is called "elsewhere".* on pve2 without a name at the moment/),
      },
    ],
  });
});
