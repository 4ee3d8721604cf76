/** No false drift: a sample of all fields that a release knows is applied, and the next plan is empty. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSince } from '../../../src/base/values/release.ts';
import type { VmFields } from '../../../src/kinds/vm/fields/index.ts';
import { vmFieldRows } from '../../../src/kinds/vm/fields/rows.ts';
import { vmFieldsArbitrary } from '../../../src/kinds/vm/testing/arbitrary-vm.ts';
import { byDepth } from '../../support/depth.ts';
import { DRIFT_WORLD, stackOf, VM_SITES } from '../engine/support/drift-world.ts';
import { failuresOf } from '../engine/support/invariants.ts';
import { Scene } from '../engine/support/scene.ts';
import { worldOf } from './support/worlds.ts';

const STACKS_PER_TEMPLATE = byDepth(2, 12);

/** Fields that the release does not have yet. */
const NEWER = vmFieldRows()
  .filter(({ facts: { since } }) => since !== undefined && !isSince('8.4', since))
  .map(({ path }) => path.split('.'));

function without(fields: VmFields, paths: readonly (readonly string[])[]): VmFields {
  const copy = structuredClone(fields) as Record<string, unknown>; // plain data
  for (const [first = '', second] of paths) {
    const block = copy[first];
    if (second === undefined || typeof block !== 'object' || block === null) delete copy[first];
    else delete (block as Record<string, unknown>)[second];
  }
  return copy as unknown as VmFields;
}

function samples(): { readonly name: string; readonly fields: VmFields }[] {
  return VM_SITES.flatMap((around) =>
    fc.sample(vmFieldsArbitrary(around), { numRuns: STACKS_PER_TEMPLATE, seed: 8 }).map((drawn, index) => ({
      name: `${around.template ?? 'from nothing'} ${index}`,
      fields: { ...without(drawn, NEWER), power: 'stopped' as const },
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
      failures.push(...scene.writes().map((line) => `${name}: ${line} was sent again`), ...scene.wireViolations);
    }
    expect(failures).toEqual([]);
  });
});
