/** A destroy of five VMs is killed everywhere. */
import { expect, it } from 'vitest';
import { crashEverywhere, fiveVms } from './support/crash-everywhere.ts';
import { complaintsAfterDestroy } from './support/invariants.ts';
import { FIVE_VMS } from './support/stacks.ts';

it('completes a destroy in the next one after a kill at any point', async () => {
  const failures = await crashEverywhere({
    name: 'destroy',
    from: await fiveVms(),
    run: (scene) => scene.destroy(FIVE_VMS),
    complaints: (scene, before) => complaintsAfterDestroy(scene, FIVE_VMS, before),
    tasks: ['qmstop', 'qmdestroy'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});
