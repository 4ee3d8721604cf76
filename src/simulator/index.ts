/** The public face of the simulator: `import { createSimulator } from 'proxwright/simulator'`. */
import type { Instant } from '../base/clock.ts';
import { VIRTUAL_START } from '../base/virtual-clock.ts';
import { buildWorld } from './world/build-world.ts';
import { DEFAULT_WORLD } from './world/default-world.ts';
import { RECORDED_WORLD } from './world/recorded-world.ts';
import type { World } from './world/world.ts';

export { type Clock, systemClock } from '../base/clock.ts';
export { type Random, seededRandom, systemRandom } from '../base/random.ts';
export { scaledClock } from '../base/scaled-clock.ts';
export { VirtualClock } from '../base/virtual-clock.ts';
export { createSimulator, type Simulator, type SimulatorOptions } from './core/simulator.ts';
export { combineFaults, type Faults } from './faults/faults.ts';
export { type FaultPlan, ruleFaults, type Strike, seededFaults } from './faults/plan.ts';
export { FAULT_KINDS, type FaultKind, type FaultRule, type FaultRuleInput } from './faults/rule.ts';
export { parseRuleFile } from './faults/rule-file.ts';
export { parseShortForm } from './faults/short-form.ts';
export { createCertificate, type ServerCertificate } from './http/certificate.ts';
export { type SimulatorServer, serveSimulator } from './http/server.ts';
export { buildWorld } from './world/build-world.ts';
export { loadWorld } from './world/load-world.ts';
export type { World } from './world/world.ts';
export type { WorldFile } from './world/world-file.ts';

/** The world the recordings start from; `now` is when the simulation begins. */
export function recordedWorld(options: { readonly now?: Instant } = {}): World {
  return buildWorld(RECORDED_WORLD, { now: options.now ?? VIRTUAL_START, file: 'recorded' });
}

/** Two nodes with storage, templates and documented credentials: what `proxwright sim` serves unless told otherwise. */
export function defaultWorld(options: { readonly now?: Instant } = {}): World {
  return buildWorld(DEFAULT_WORLD, { now: options.now ?? VIRTUAL_START, file: 'default' });
}
