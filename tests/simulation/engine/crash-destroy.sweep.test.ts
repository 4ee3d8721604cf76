/** A destroy of five VMs is killed everywhere. */
import { expect, it } from 'vitest';
import { crashEverywhere, fiveVms } from './support/crash-everywhere.ts';
import { complaintsAfterDestroy } from './support/invariants.ts';
import { FIVE_VMS } from './support/stacks.ts';

it('a kill at any point of a destroy is made good by the next destroy', async () => {
  const failures = await crashEverywhere({
    name: 'destroy',
    from: await fiveVms(),
    run: (scene) => scene.destroy(FIVE_VMS),
    complaints: (scene, before) => complaintsAfterDestroy(scene, FIVE_VMS, before),
    tasks: ['qmstop', 'qmdestroy'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});
