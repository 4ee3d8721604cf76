/** No false drift: a sample of all fields that a release knows is applied, and the next plan is empty. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { VmFields } from '../../../src/kinds/vm/fields/index.ts';
import { vmFieldsArbitrary } from '../../../src/kinds/vm/testing/arbitrary-vm.ts';
import { byDepth } from '../../support/depth.ts';
import { DRIFT_WORLD, SURROUNDINGS, stackOf } from '../engine/support/drift-world.ts';
import { failuresOf } from '../engine/support/invariants.ts';
import { Scene } from '../engine/support/scene.ts';
import { worldOf } from './support/worlds.ts';

const STACKS_PER_TEMPLATE = byDepth(2, 12);

function samples(): { readonly name: string; readonly fields: VmFields }[] {
  return SURROUNDINGS.flatMap((around) =>
    fc.sample(vmFieldsArbitrary(around), { numRuns: STACKS_PER_TEMPLATE, seed: 8 }).map((drawn, index) => ({
      name: `${around.template ?? 'from nothing'} ${index}`,
      fields: { ...drawn, power: 'stopped' as const },
    })),
  );
}

describe('a VM that was applied on Proxmox VE 8.4', () => {
  it('has an empty plan, and a second apply writes nothing', async () => {
    const failures: string[] = [];
    for (const { name, fields } of samples()) {
      const scene = new Scene({ world: worldOf('8.4', DRIFT_WORLD), seed: name });
      failures.push(...failuresOf(await scene.apply(stackOf(fields))).map((each) => `${name}: ${each}`));
      const second = await scene.apply(stackOf(fields));
      failures.push(...failuresOf(second).map((each) => `${name}, again: ${each}`));
      if (second.kind === 'ended') {
        failures.push(...second.plan.steps.map(({ id }) => `${name}: ${id} is planned again`));
      }
      failures.push(...scene.writes().map((line) => `${name}: ${line} was sent again`), ...scene.carelessness);
    }
    expect(failures).toEqual([]);
  });
});
