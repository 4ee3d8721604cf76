/** The public face of the simulator: `import { createSimulator } from 'proxwright/simulator'`. */
import type { Instant } from '../base/clock.ts';
import { VIRTUAL_START } from '../base/virtual-clock.ts';
import { buildWorld } from './world/build-world.ts';
import { RECORDED_WORLD } from './world/recorded-world.ts';
import type { World } from './world/world.ts';

export { type Clock, systemClock } from '../base/clock.ts';
export { type Random, seededRandom, systemRandom } from '../base/random.ts';
export { VirtualClock } from '../base/virtual-clock.ts';
export { createSimulator, type Simulator, type SimulatorOptions } from './core/simulator.ts';
export { buildWorld } from './world/build-world.ts';
export type { World } from './world/world.ts';
export type { WorldFile } from './world/world-file.ts';

/** The world the recordings start from; `now` is when the simulation begins. */
export function recordedWorld(options: { readonly now?: Instant } = {}): World {
  return buildWorld(RECORDED_WORLD, { now: options.now ?? VIRTUAL_START, file: 'recorded' });
}
