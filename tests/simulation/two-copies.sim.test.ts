/** One stack file, two states: on two machines, or in two directories. Each would make its own VMs and find its plan empty. */
import { describe, expect, it } from 'vitest';
import { replaceState } from '../../src/engine/state-edit.ts';
import { recoverState } from '../../src/engine/take-over.ts';
import { isEmpty } from '../../src/kinds/change.ts';
import { emptyState } from '../../src/kinds/recorded.ts';
import { findOwnership, shortLineage, withoutLineage } from '../../src/kinds/vm/ownership.ts';
import { MemoryStore } from '../../src/state/memory-store.ts';
import { StackScene, stackOf } from './support/stack-scene.ts';

const STACK = stackOf(`
defaults: { node: pve1, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
  web: { name: web, memory: 4GiB }
`);

const BOTH = stackOf(`
defaults: { node: pve1, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
  web: { name: web, memory: 4GiB }
  db: { name: db, memory: 4GiB }
`);

/** A scene whose store can be exchanged for that of another machine. */
class TwoMachines extends StackScene {
  readonly here = this.store;
  readonly there = new MemoryStore();

  async onOther<Result>(work: () => Promise<Result>): Promise<Result> {
    const scene = this as { store: MemoryStore };
    scene.store = this.there;
    try {
      return await work();
    } finally {
      scene.store = this.here;
    }
  }

  async problems(stack = STACK) {
    const session = await this.session(stack);
    try {
      const result = await session.plan();
      return result.ok ? [] : result.problems;
    } finally {
      await session.close();
    }
  }

  notesOf(vmid: number): string {
    return this.simulator.runtime.world.vms.get(vmid)?.config.current.get('description') ?? '';
  }
}

/** Both plans were made before either had created anything. */
async function appliedAtOnce(): Promise<TwoMachines> {
  const lab = new TwoMachines();
  await lab.run(async () => {
    const first = await lab.session(STACK);
    const second = await lab.onOther(() => lab.session(STACK));
    const plans = [await first.plan(), await second.plan()];
    for (const [index, session] of [first, second].entries()) {
      const result = plans[index];
      if (!result?.ok) throw new Error('no plan');
      await session.execute(result.plan);
      await session.close();
    }
    await lab.clock.sleep(30_000);
  });
  return lab;
}

describe('two copies of one stack', () => {
  it('name their states in the ownership lines', async () => {
    const lab = await appliedAtOnce();
    const [here, there] = [await lab.state(), await lab.onOther(() => lab.state())];
    expect(here.lineage).toMatch(/^[0-9a-f-]{36}$/);
    expect(there.lineage).not.toBe(here.lineage);
    for (const { lineage, vms } of [here, there]) {
      expect(findOwnership(lab.notesOf(vms['vm.web']?.vmid ?? 0))?.lineage).toBe(shortLineage(lineage ?? ''));
    }
  });

  it('notice each other if both created a VM called web, with the way out', async () => {
    const lab = await appliedAtOnce();
    await lab.run(async () => {
      const other = (await lab.onOther(() => lab.state())).vms['vm.web']?.vmid;
      const [problem, ...more] = await lab.problems();
      expect(more).toEqual([]);
      expect(problem).toMatchObject({ code: 'STATE_FORKED', where: { address: 'vm.web' } });
      expect(problem?.detail).toContain(`vm.web is VM ${other} on pve1 ("web"), while this state has VM`);
      expect(problem?.hint?.text).toMatch(/copy its directory.*proxwright import vm\.web \d+.*stack: NAME/);
      expect(await lab.onOther(() => lab.problems())).toMatchObject([{ code: 'STATE_FORKED' }]);
    });
  });

  it('do not meet when one of them starts later: its plan is refused before it makes anything', async () => {
    const lab = new TwoMachines();
    await lab.run(async () => {
      await lab.apply(STACK);
      await lab.clock.sleep(30_000);
      const [problem] = await lab.onOther(() => lab.problems());
      expect(problem).toMatchObject({ code: 'STATE_LOST' });
      expect(problem?.hint?.text).toContain('stack: NAME');
    });
  });

  it('become one when the later one recovers the state: it continues the lineage', async () => {
    const lab = new TwoMachines();
    await lab.run(async () => {
      await lab.apply(STACK);
      await lab.clock.sleep(30_000);
      await lab.onOther(async () => {
        await lab.problems();
        const { state } = await recoverState({
          pve: lab.pve,
          clock: lab.clock,
          stack: STACK,
          state: await lab.state(),
        });
        await replaceState(lab.deps('state recover'), state);
        expect(isEmpty(await lab.plan(STACK))).toBe(true);
      });
      expect(isEmpty(await lab.plan(STACK))).toBe(true);
    });
  });

  it('leave each other’s VMs out of a recovery, and an import takes one over for good', async () => {
    const lab = await appliedAtOnce();
    await lab.run(async () => {
      const [here, there] = [await lab.state(), await lab.onOther(() => lab.state())];
      const theirs = there.vms['vm.web']?.vmid ?? 0;
      const recovery = await recoverState({ pve: lab.pve, clock: lab.clock, stack: STACK, state: here });
      expect(recovery.found).toEqual([]);
      expect(recovery.remarks.join('\n')).toContain(`VM ${theirs} is vm.web of another copy of this stack`);
      const { 'vm.web': _, ...vms } = here.vms;
      await replaceState(lab.deps('state forget'), { ...here, vms });
      lab.edit(here.vms['vm.web']?.vmid ?? 0, 'description', undefined);
      await lab.import(STACK, theirs);
      expect(isEmpty(await lab.plan(STACK))).toBe(true);
      // The other copy finds that its VM was taken over, and neither changes nor destroys it.
      await lab.onOther(async () => {
        expect(await lab.problems()).toMatchObject([{ code: 'STATE_FORKED' }]);
        const session = await lab.session(STACK);
        expect(await session.planDestroy({ running: 'stop' })).toMatchObject({
          ok: false,
          problems: [{ code: 'STATE_FORKED' }],
        });
        await session.close();
      });
    });
  });

  it('are noticed when the other one has made a VM that is still missing here', async () => {
    const lab = await appliedAtOnce();
    await lab.run(async () => {
      const mine = (await lab.state()).vms['vm.web']?.vmid ?? 0;
      // The VMs with the same name are gone; what is left is a VM of the other copy that this one is about to create.
      lab.edit(mine, 'name', 'renamed');
      await lab.onOther(async () => {
        lab.edit(mine, 'description', undefined);
        await lab.apply(BOTH);
      });
      await lab.clock.sleep(30_000);
      expect(await lab.problems(BOTH)).toMatchObject([{ code: 'STATE_FORKED' }]);
    });
  });
});

describe('a VM whose line has no lineage', () => {
  it('keeps its line, and the plan is empty', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(STACK);
      const { lineage: _, ...old } = await lab.state();
      const vmid = old.vms['vm.web']?.vmid ?? 0;
      const notes = lab.simulator.runtime.world.vms.get(vmid)?.config.current.get('description') ?? '';
      lab.edit(vmid, 'description', withoutLineage(notes));
      await lab.store.write('state.json', JSON.stringify({ ...old, version: 1 }));
      lab.requests.length = 0;
      expect(isEmpty(await lab.plan(STACK))).toBe(true);
      await lab.apply(STACK);
      expect(lab.requests.filter((line) => !line.startsWith('GET '))).toEqual([]);
      expect((await lab.state()).lineage).toBeDefined();
    });
  });

  it('is recovered into any state', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(STACK);
      const vmid = (await lab.state()).vms['vm.web']?.vmid ?? 0;
      const notes = lab.simulator.runtime.world.vms.get(vmid)?.config.current.get('description') ?? '';
      lab.edit(vmid, 'description', withoutLineage(notes));
      const state = { ...emptyState('lab'), lineage: '11111111-1111-4111-8111-111111111111' };
      const recovery = await recoverState({ pve: lab.pve, clock: lab.clock, stack: STACK, state });
      expect(recovery).toMatchObject({ found: ['vm.web'], state: { lineage: state.lineage } });
    });
  });
});
