/** An apply that changes five VMs in place, and restarts them, is killed everywhere. */
import { expect, it } from 'vitest';
import { crashEverywhere, fiveVms } from './support/crash-everywhere.ts';
import { complaintsAfter } from './support/invariants.ts';
import { FIVE_VMS_CHANGED } from './support/stacks.ts';

it('completes a change of five VMs in the next run after a kill at any point', async () => {
  const failures = await crashEverywhere({
    name: 'update',
    from: await fiveVms(),
    run: (scene) => scene.apply(FIVE_VMS_CHANGED),
    complaints: (scene, before) => complaintsAfter(scene, FIVE_VMS_CHANGED, before),
    tasks: ['qmclone', 'resize', 'qmconfig', 'qmshutdown', 'qmstart'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});
