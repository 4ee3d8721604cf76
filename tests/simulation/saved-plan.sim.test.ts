/** Plans and runs: a saved plan is executed only if a new plan has the same steps, and each executed plan is one run. */
import { describe, expect, it } from 'vitest';
import type { ProxwrightError } from '../../src/base/errors.ts';
import { describeRun } from '../../src/engine/index.ts';
import type { Plan } from '../../src/kinds/change.ts';
import { readRuns } from '../../src/state/journal.ts';
import { StackScene, stackOf } from './support/stack-scene.ts';

const STACK = stackOf(`
defaults: { node: pve1, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
  web: { name: web, vmid: 401, memory: 4GiB }
  db: { name: db, vmid: 402, memory: 4GiB }
`);

const saved = (plan: Plan): Plan => JSON.parse(JSON.stringify(plan));

async function applySaved(lab: StackScene, plan: Plan): Promise<void> {
  const session = await lab.session(STACK);
  try {
    await session.execute(plan);
  } finally {
    await session.close();
  }
}

/** The plan with something in the step of this action changed. */
function edited(plan: Plan, action: string, input: Readonly<Record<string, unknown>>): Plan {
  return {
    ...plan,
    steps: plan.steps.map((step) =>
      step.address === 'vm.web' && step.action === action
        ? { ...step, input: { ...(step.input as object), ...input } }
        : step,
    ),
  };
}

const vmsOf = (lab: StackScene) =>
  [...lab.simulator.runtime.world.vms.keys()].filter((vmid) => vmid === 401 || vmid === 402);

describe('a saved plan', () => {
  it('is carried out as long as nothing has changed', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await applySaved(lab, saved(await lab.plan(STACK)));
    });
    expect(vmsOf(lab)).toEqual([401, 402]);
  });

  it.each([
    ['another source of the clone', 'vm.clone', { source: { node: 'pve1', vmid: 9999 } }],
    ['another name', 'vm.clone', { name: 'other' }],
    ['a configuration that was not planned', 'vm.configure', { desired: [] }],
  ])('is refused with %s', async (_, action, input) => {
    const lab = new StackScene();
    await lab.run(async () => {
      const plan = edited(saved(await lab.plan(STACK)), action, input);
      await expect(applySaved(lab, plan)).rejects.toMatchObject({
        code: 'PLAN_STALE',
        diagnostic: { detail: expect.stringContaining('The steps for vm.web are not what a new plan has') },
      });
    });
    expect(vmsOf(lab)).toEqual([]);
  });

  it('is refused with a step less, a step more, or steps in another order', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      const plan = saved(await lab.plan(STACK));
      const [first, ...rest] = plan.steps;
      for (const steps of [rest, [...plan.steps, { ...plan.steps[0], id: 'vm.web/again' }], [...rest, first]]) {
        await expect(applySaved(lab, { ...plan, steps } as Plan)).rejects.toMatchObject({ code: 'PLAN_STALE' });
      }
    });
    expect(vmsOf(lab)).toEqual([]);
  });

  it('is refused once its template has other notes, which a clone takes along', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      const plan = saved(await lab.plan(STACK));
      const clone = plan.steps.find(({ action }) => action === 'vm.clone');
      const { source } = (clone as { input: { source: { vmid: number } } }).input; // the input of this action
      lab.edit(source.vmid, 'description', 'Changed since.');
      await expect(applySaved(lab, plan)).rejects.toMatchObject({ code: 'PLAN_STALE' });
    });
    expect(vmsOf(lab)).toEqual([]);
  });

  it('keeps what it was asked to do beyond following the file', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(STACK);
      const uuid = (await lab.state()).vms['vm.web']?.uuid;
      const session = await lab.session(STACK);
      const result = await session.plan({ replace: ['vm.web'] });
      await session.close();
      if (!result.ok) throw new Error('no plan');
      await applySaved(lab, saved(result.plan));
      expect((await lab.state()).vms['vm.web']?.uuid).not.toBe(uuid);
    });
  });
});

describe('the refusal of a stale plan', () => {
  const CHANGED = stackOf(`
defaults: { node: pve1, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
  web: { name: web, vmid: 401, memory: 8GiB }
  db: { name: db, vmid: 402, memory: 4GiB }
`);
  const refusal = async (lab: StackScene, plan: Plan, stack = STACK): Promise<string> => {
    const session = await lab.session(stack);
    try {
      const error = await session.execute(plan).catch((each: unknown) => each);
      expect(error).toMatchObject({ code: 'PLAN_STALE' });
      return (error as ProxwrightError).diagnostic.detail;
    } finally {
      await session.close();
    }
  };

  it('names the field that another client changed, with its value then and now', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(STACK);
      const plan = saved(await lab.plan(CHANGED));
      lab.edit(401, 'memory', '2048');
      lab.edit(402, 'cores', '7');
      expect((await refusal(lab, plan, CHANGED)).split('\n').slice(1)).toEqual([
        '- vm.web: memory was 4GiB and is 2GiB now',
        '- vm.db: a field that the file does not set',
      ]);
    });
  });

  it('names what the file says now', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(STACK);
      const plan = saved(await lab.plan(STACK));
      expect((await refusal(lab, plan, CHANGED)).split('\n').slice(1)).toEqual([
        '- the stack file or its variables',
        '- vm.web: the file now sets memory to 8GiB',
        '- vm.web: the plan says "none", and a new one says "update"',
      ]);
    });
  });

  it('names a VM that is gone', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(STACK);
      const plan = saved(await lab.plan(CHANGED));
      lab.simulator.runtime.world.vms.delete(401);
      expect(await refusal(lab, plan, CHANGED)).toContain('- vm.web: it no longer exists');
    });
  });

  it('names the runs since, and who started them', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      const plan = saved(await lab.plan(STACK));
      await lab.apply(STACK);
      const detail = await refusal(lab, plan);
      expect(detail).toMatch(
        /- the state: it is at serial [1-9]\d*, .* at serial 0; runs since: \S+ \(apply by operator\)/,
      );
      expect(detail).toContain('- vm.web: it exists now');
    });
  });

  it('says that the plan was made from another state', async () => {
    const lab = new StackScene();
    await lab.run(async () => {
      await lab.apply(STACK);
      const plan = saved(await lab.plan(CHANGED));
      const other = { ...plan, fingerprints: { ...plan.fingerprints, lineage: 'another' } };
      expect(await refusal(lab, other, CHANGED)).toContain('the state is another one');
    });
  });
});

describe('a session that executes two plans', () => {
  it('records each of them as a run of its own, with its own end', async () => {
    const lab = new StackScene();
    const ids = await lab.run(async () => {
      const session = await lab.session(STACK);
      try {
        const made = await session.plan();
        if (made.ok) await session.execute(made.plan);
        const first = session.runId;
        const destroyed = await session.planDestroy({ running: 'stop' });
        if (destroyed.ok) await session.execute(destroyed.plan);
        return [first, session.runId];
      } finally {
        await session.close();
      }
    });
    expect(vmsOf(lab)).toEqual([]);
    const runs = (await readRuns(lab.store)).map(describeRun);
    expect(runs.map(({ runId }) => runId)).toEqual(ids);
    expect(new Set(ids).size).toBe(2);
    expect(runs.map(({ outcome, steps }) => [outcome, steps.some(({ action }) => action === 'vm.destroy')])).toEqual([
      ['done', false],
      ['done', true],
    ]);
  });
});
