/** Stacks that leave the node to the plan, on the simulated cluster of two nodes with the same templates. */
import { describe, expect, it } from 'vitest';
import { isEmpty, type Plan } from '../../src/kinds/change.ts';
import { StackScene, stackOf } from './support/stack-scene.ts';

const STACK = stackOf(`
zones: { rack-a: [pve1], rack-b: [pve2] }
defaults: { nodes: all, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
  web: { count: 4, name: "web-\${number}", vmids: 401-409, memory: 2GiB }
`);

async function apply(lab: StackScene, plan?: Plan): Promise<void> {
  const session = await lab.session(STACK);
  try {
    const made = plan ? { ok: true as const, plan } : await session.plan();
    if (!made.ok) throw new Error(made.problems.map(({ detail }) => detail).join('\n'));
    const { outcomes } = await session.execute(made.plan);
    expect([...outcomes.values()].every((outcome) => outcome === 'done')).toBe(true);
  } finally {
    await session.close();
  }
}

const nodesIn = (lab: StackScene) =>
  [401, 402, 403, 404].map((vmid) => lab.simulator.runtime.world.vms.get(vmid)?.node);

describe('a stack that leaves the node to the plan', () => {
  it('spreads a group over the zones, says why, and plans nothing afterwards', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      const plan = await lab.plan(STACK);
      expect(plan.changes.map(({ node, zone }) => `${node} ${zone}`)).toEqual([
        'pve1 rack-a',
        'pve2 rack-b',
        'pve1 rack-a',
        'pve2 rack-b',
      ]);
      expect(plan.changes[1]).toMatchObject({
        placement: expect.stringMatching(/GiB free, none of this group in its zone$/),
      });
      expect(plan.changes[1]?.notes?.[0]).toMatch(/^placed on pve2 \(zone rack-b\): /);
      await apply(lab);
      expect(isEmpty(await lab.plan(STACK))).toBe(true);
    });
    expect(nodesIn(lab)).toEqual(['pve1', 'pve2', 'pve1', 'pve2']);
    const { vms } = await lab.state();
    expect(Object.values(vms).map(({ node }) => node)).toEqual(['pve1', 'pve2', 'pve1', 'pve2']);
  });

  it('leaves a VM that another client migrated where it is', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await apply(lab);
      const upid = await lab.pve.node('pve1').vm(401).migrate({ target: 'pve2', 'with-local-disks': true });
      await lab.pve.tasks.wait(upid, { timeoutMs: 600_000 });
      await lab.clock.sleep(30_000);
      const plan = await lab.plan(STACK);
      expect(plan.steps).toEqual([]);
      expect(plan.changes[0]).toMatchObject({
        node: 'pve2',
        outside: [{ path: 'node', applied: 'pve1', actual: 'pve2' }],
      });
    });
  });

  it('carries a saved plan out on the nodes that it names, although the emptiest node is another one by then', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      const plan: Plan = JSON.parse(JSON.stringify(await lab.plan(STACK)));
      const [first] = plan.changes;
      // A guest of another client makes the other node the emptier one.
      await lab.makeByHand(150, { name: 'big', memory: 8192, scsi0: 'local-lvm:8' });
      await lab.pve.tasks.wait(await lab.pve.node('pve1').vm(150).status.start(), { timeoutMs: 600_000 });
      await lab.clock.sleep(30_000);
      expect((await lab.plan(STACK)).changes[0]?.node).not.toBe(first?.node);
      await apply(lab, plan);
      expect(nodesIn(lab)).toEqual(plan.changes.map(({ node }) => node));
    });
  });

  it('refuses before anything is created, with the reason for each node', async () => {
    const lab = new StackScene();
    const huge = stackOf(`
defaults: { nodes: [pve1, pve2], clone: { template: ubuntu-24.04 } }
vms:
  web: { name: web, memory: 9000GiB }
`);
    await lab.run(async () => {
      const session = await lab.session(huge);
      const result = await session.plan();
      await session.close();
      if (result.ok) throw new Error('A VM with 9000 GiB was planned.');
      expect(result.problems).toEqual([
        expect.objectContaining({
          code: 'NO_NODE_FITS',
          detail: expect.stringMatching(
            /^No node can take vm\.web\. pve1: \S+ of its memory are free; the VM needs 9000GiB\. pve2: /,
          ),
          where: expect.objectContaining({ line: 4 }),
        }),
      ]);
    });
    expect(lab.requests.filter((request) => !request.startsWith('GET'))).toEqual([]);
  });

  it('chooses among the nodes that have the device of a mapping', async () => {
    const lab = new StackScene();
    const gpu = stackOf(`
defaults: { nodes: all, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
  gpu: { name: gpu, machine: q35, pci: { hostpci0: { device: "0000:01:00", pcie: true } } }
`);
    await lab.run(async () => {
      const plan = await lab.plan(gpu);
      expect(plan.changes.find(({ address }) => address === 'vm.gpu')).toMatchObject({
        node: 'pve1',
        placement: expect.stringContaining('the only node that fits'),
      });
    });
  });
});
