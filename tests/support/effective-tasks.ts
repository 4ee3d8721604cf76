/**
 * Tasks that did something. Where the clock of a cluster runs fast, a busy machine makes tasks wait for a lock longer than
 * the server allows; such a task changes nothing, and the client rightly begins it again.
 */
import type { TaskRecord, World } from '../../src/simulator/world/world.ts';

export function effectiveTasks(world: World): TaskRecord[] {
  return [...world.tasks.values()].filter(
    ({ exitStatus = '' }) => !/\bgot (lock request )?timeout$/.test(exitStatus.trim()),
  );
}
