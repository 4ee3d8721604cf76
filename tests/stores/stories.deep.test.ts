/**
 * The stories of the engine with its state in each shared store: a run that is killed at any point is made good by the next one, and
 * storms of faults are survived. The servers are real, the time is virtual.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crashEverywhere, fiveVms } from '../simulation/engine/support/crash-everywhere.ts';
import { complaintsAfter, complaintsAfterDestroy } from '../simulation/engine/support/invariants.ts';
import { FIVE_VMS, FIVE_VMS_CHANGED } from '../simulation/engine/support/stacks.ts';
import { storm } from '../simulation/engine/support/storm.ts';
import { REAL_STORES, type RealStore } from './scene-stores.ts';
import { saySkipped } from './stores.ts';

const STORM_SEEDS = [8];
/** Each store tries other points of the same runs; with PROXWRIGHT_KILL_POINTS=all every one. */
const STRIDE = 251;

for (const kind of REAL_STORES) {
  if (kind.missing !== undefined) saySkipped(`kills and storms with the state in ${kind.name}`, kind.missing);

  describe.skipIf(kind.missing !== undefined)(`with the state in ${kind.name}`, () => {
    let real: RealStore;
    beforeAll(async () => {
      real = await kind.start();
    });
    afterAll(() => real.stop());
    const options = { shared: (clock: Parameters<RealStore['shared']>[0]) => real.shared(clock) };

    it('completes an apply in the next run after a kill at any point', async () => {
      const failures = await crashEverywhere({
        name: `apply, ${kind.name}`,
        from: undefined,
        options,
        stride: STRIDE,
        run: (scene) => scene.apply(FIVE_VMS),
        complaints: (scene, before) => complaintsAfter(scene, FIVE_VMS, before),
        tasks: ['qmclone', 'resize', 'qmconfig', 'qmstart'],
      });
      expect(failures.slice(0, 20)).toEqual([]);
    });

    it('completes an update in the next run after a kill at any point', async () => {
      const failures = await crashEverywhere({
        name: `update, ${kind.name}`,
        from: await fiveVms(),
        options,
        stride: STRIDE,
        run: (scene) => scene.apply(FIVE_VMS_CHANGED),
        complaints: (scene, before) => complaintsAfter(scene, FIVE_VMS_CHANGED, before),
        tasks: ['qmclone', 'resize', 'qmconfig', 'qmshutdown', 'qmstart'],
      });
      expect(failures.slice(0, 20)).toEqual([]);
    });

    it('completes a destroy in the next run after a kill at any point', async () => {
      const failures = await crashEverywhere({
        name: `destroy, ${kind.name}`,
        from: await fiveVms(),
        options,
        stride: STRIDE,
        run: (scene) => scene.destroy(FIVE_VMS),
        complaints: (scene, before) => complaintsAfterDestroy(scene, FIVE_VMS, before),
        tasks: ['qmstop', 'qmdestroy'],
      });
      expect(failures.slice(0, 20)).toEqual([]);
    });

    it.each(STORM_SEEDS)('survives a storm of seed %i', async (seed) => {
      expect((await storm(seed, options)).complaints).toEqual([]);
    });
  });
}
