import { describe, expect, it } from 'vitest';
import { replaceState } from '../../src/engine/state-edit.ts';
import { recoverState } from '../../src/engine/take-over.ts';
import { isEmpty } from '../../src/kinds/change.ts';
import { emptyState } from '../../src/kinds/recorded.ts';
import type { ResolvedStack } from '../../src/spec/index.ts';
import { StackScene, stackOf } from './support/stack-scene.ts';

const group = (fields: string) =>
  stackOf(`
defaults: { node: pve1, clone: { template: ubuntu-24.04 }, power: stopped }
vms:
  web: { count: 2, name: "web-\${number}", ${fields} }
`);

/** Where the second VM is found by its name, by the range of its ids, or by its fixed id. */
const STACKS: readonly (readonly [string, ResolvedStack])[] = [
  ['names alone', group('memory: 4GiB')],
  ['a range of ids', group('vmids: 401-409')],
  ['fixed ids', group('overrides: { 1: { vmid: 401 }, 2: { vmid: 402 } }')],
];

async function lost(stack: ResolvedStack): Promise<StackScene> {
  const lab = new StackScene();
  await lab.run(async () => {
    await lab.apply(stack);
    // Until the list of guests has caught up.
    await lab.clock.sleep(30_000);
  });
  await lab.store.remove('state.json');
  return lab;
}

async function problemsOf(lab: StackScene, stack: ResolvedStack) {
  const session = await lab.session(stack);
  try {
    const result = await session.plan();
    return result.ok ? [] : result.problems;
  } finally {
    await session.close();
  }
}

describe('a plan without the state', () => {
  it.each(STACKS)('names the VMs of the stack and the way back, with %s', async (_, stack) => {
    const lab = await lost(stack);
    const before = [...lab.simulator.runtime.world.vms.keys()];
    await lab.run(async () => {
      const problems = await problemsOf(lab, stack);
      expect(problems).toHaveLength(1);
      expect(problems[0]).toMatchObject({ code: 'STATE_LOST', where: { file: 'stack.yaml' } });
      expect(problems[0]?.detail).toMatch(
        /vm\.web\[1\] is VM \d+ \(web-1\) on pve1, vm\.web\[2\] is VM \d+ \(web-2\) on pve1/,
      );
      expect(problems[0]?.hint?.text).toContain('proxwright state recover');
      const { state } = await recoverState({ pve: lab.pve, clock: lab.clock, stack, state: emptyState('lab') });
      await replaceState(lab.deps('state recover'), state);
      expect(isEmpty(await lab.plan(stack))).toBe(true);
    });
    expect([...lab.simulator.runtime.world.vms.keys()]).toEqual(before);
  });

  it('makes a new VM beside one whose line was copied, or belongs to another stack', async () => {
    const stack = group('memory: 4GiB');
    const lab = await lost(stack);
    await lab.run(async () => {
      for (const vm of [...lab.simulator.runtime.world.vms.values()]) {
        if (!vm.config.current.get('name')?.startsWith('web-')) continue;
        const description =
          'proxwright: stack=lab address=vm.web[1] vmid=7777 uuid=11111111-2222-4333-8444-555555555555';
        await lab.pve.node('pve1').vm(vm.vmid).config.put({ description });
      }
      expect((await lab.plan(stack)).changes.map(({ kind }) => kind)).toEqual(['create', 'create']);
    });
  });

  it('reads no guest that bears neither a name nor an id of the stack', async () => {
    const lab = new StackScene();
    const stack = group('vmids: 401-409');
    await lab.run(async () => {
      await lab.makeByHand(500, { name: 'stranger' });
      await lab.makeByHand(405, { name: 'neighbour' });
      const begun = lab.requests.length;
      await lab.plan(stack);
      const reads = lab.requests.slice(begun);
      expect(reads.filter((line) => /qemu\/500\b/.test(line))).toEqual([]);
      expect(reads.filter((line) => /qemu\/405\b/.test(line))).toHaveLength(1);
    });
  });
});

describe('destroying without the state', () => {
  it('destroys nothing, and says what is there', async () => {
    const stack = group('vmids: 401-409');
    const lab = await lost(stack);
    await lab.run(async () => {
      const session = await lab.session(stack);
      const result = await session.planDestroy({ running: 'stop' });
      await session.close();
      expect(result).toMatchObject({
        ok: true,
        plan: { changes: [], warnings: [{ severity: 'warning', code: 'STATE_LOST' }] },
      });
    });
  });
});
