/**
 * A run is killed while one of its requests is on the way. The request arrives seconds later, when the next run has begun. What
 * the next run creates under the same id must not be affected.
 */
import { expect, it } from 'vitest';
import { type Transport, TransportFailure } from '../../../src/base/transport.ts';
import { lineOf } from '../../../src/rehearse/trial/mortal-process.ts';
import { failuresOf } from './support/invariants.ts';
import { Scene } from './support/scene.ts';

const STACK = `
version: 1
stack: lab
vms:
  web:
    name: web
    vmid: 401
    node: pve1
    power: stopped
    clone: { template: ubuntu-24.04, mode: linked }
`;
const LATE_MS = 15_000;
const DELETE = 'DELETE /nodes/pve1/qemu/401';

/** Holds the first DELETE, lets the run die, and delivers the request later. */
function holdDelete() {
  let held = false;
  const disguise = (transport: Transport): Transport => ({
    ...transport,
    send: (request, options) => {
      if (held || lineOf(request) !== DELETE) return transport.send(request, options);
      held = true;
      void scene.clock.sleep(LATE_MS).then(() => scene.simulator.transport().send(request));
      return new Promise(() => {});
    },
  });
  const scene = new Scene({ disguise });
  return { scene, isHeld: () => held };
}

/** The run waits for an answer that does not come, and is killed there. */
async function killedWaiting(scene: Scene, work: () => ReturnType<Scene['apply']>, isHeld: () => boolean) {
  await scene.together(async () => {
    void work();
    while (!isHeld()) await scene.clock.sleep(100);
    await scene.clock.sleep(1_000);
  });
  scene.abandonLock();
}

it('does not destroy the VM that the next run created under the same id by a DELETE that arrives late', async () => {
  const { scene, isHeld } = holdDelete();
  expect(failuresOf(await scene.apply(STACK))).toEqual([]);
  await killedWaiting(scene, () => scene.destroy(STACK), isHeld);
  expect(failuresOf(await scene.destroy(STACK))).toEqual([]);
  expect(failuresOf(await scene.apply(STACK))).toEqual([]);
  await scene.clock.advance(2 * LATE_MS);
  expect(scene.world.vms.get(401)?.config.current.get('name')).toBe('web');
  expect(scene.tasks('qmdestroy')).toEqual(['OK']);
});

it('waits for a DELETE without an answer before the same run uses the id again', async () => {
  let lost = 0;
  const scene: Scene = new Scene({
    disguise: (transport) => ({
      ...transport,
      send: async (request, options) => {
        if (lineOf(request) !== DELETE || lost++ > 0) return transport.send(request, options);
        void scene.clock.sleep(LATE_MS).then(() => scene.simulator.transport().send(request));
        throw new TransportFailure({ kind: 'cut', delivered: 'perhaps', message: 'the connection ended' });
      },
    }),
  });
  expect(failuresOf(await scene.apply(STACK))).toEqual([]);
  expect(failuresOf(await scene.apply(STACK, { replace: ['vm.web'] }))).toEqual([]);
  await scene.clock.advance(2 * LATE_MS);
  expect(scene.world.vms.get(401)?.config.current.get('name')).toBe('web');
  expect(lost).toBe(1);
});
