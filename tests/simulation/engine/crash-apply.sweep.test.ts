/** An apply that makes five VMs is killed everywhere. */
import { expect, it } from 'vitest';
import { crashEverywhere } from './support/crash-everywhere.ts';
import { complaintsAfter } from './support/invariants.ts';
import { FIVE_VMS } from './support/stacks.ts';

it('completes an apply of five VMs in the next run after a kill at any point', async () => {
  const failures = await crashEverywhere({
    name: 'apply',
    from: undefined,
    run: (scene) => scene.apply(FIVE_VMS),
    complaints: (scene, before) => complaintsAfter(scene, FIVE_VMS, before),
    tasks: ['qmclone', 'resize', 'qmconfig', 'qmstart'],
  });
  expect(failures.slice(0, 20)).toEqual([]);
});
