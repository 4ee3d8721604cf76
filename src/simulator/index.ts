/** The public face of the simulator: `import { createSimulator } from 'proxwright/simulator'`. */
import type { Instant } from '../base/clock.ts';
import { VIRTUAL_START } from '../base/virtual-clock.ts';
import { BARE_CLUSTER_WORLD, BARE_WORLD } from './world/bare-world.ts';
import { buildWorld } from './world/build-world.ts';
import { DEFAULT_WORLD } from './world/default-world.ts';
import { RECORDED_WORLD } from './world/recorded-world.ts';
import type { World } from './world/world.ts';

export { type Clock, scaledClock, systemClock } from '../base/clock.ts';
export { type Random, seededRandom, systemRandom } from '../base/random.ts';
export { VirtualClock } from '../base/virtual-clock.ts';
export { createSimulator, type Simulator, type SimulatorOptions } from './core/simulator.ts';
export { FAULT_DESCRIPTIONS, type FaultDescription } from './faults/described.ts';
export { combineFaults, type Faults } from './faults/faults.ts';
export {
  type FaultBoard,
  type FaultPlan,
  type FaultSwitch,
  ruleFaults,
  type Strike,
  seededFaults,
} from './faults/plan.ts';
export { whyNever } from './faults/reach.ts';
export {
  ALL_FAULT_KINDS,
  FAULT_KINDS,
  type FaultKind,
  type FaultRule,
  type FaultRuleInput,
  parseRuleFile,
  TRANSFER_FAULT_KINDS,
} from './faults/rule.ts';
export { parseShortForm, printShortForm } from './faults/short-form.ts';
export {
  createCertificate,
  type ServedSimulator,
  type ServerCertificate,
  type SimulatorServer,
  serveSimulator,
} from './http/server.ts';
export { buildWorld } from './world/build-world.ts';
export { loadWorld } from './world/load-world.ts';
export { madeUpChecksums, WELL_KNOWN_URLS } from './world/well-known-downloads.ts';
export type { World } from './world/world.ts';
export type { WorldFile } from './world/world-file.ts';

/** One host `vmhost` with empty storage and bridges: no VM, no template, no image. */
export function bareWorld(options: { readonly now?: Instant } = {}): World {
  return buildWorld(BARE_WORLD, { now: options.now ?? VIRTUAL_START, file: 'bare' });
}

/** Three such hosts in a cluster, with a share that belongs to all of them. */
export function bareClusterWorld(options: { readonly now?: Instant } = {}): World {
  return buildWorld(BARE_CLUSTER_WORLD, { now: options.now ?? VIRTUAL_START, file: 'bare-cluster' });
}

/** The world the recordings start from; `now` is when the simulation begins. */
export function recordedWorld(options: { readonly now?: Instant } = {}): World {
  return buildWorld(RECORDED_WORLD, { now: options.now ?? VIRTUAL_START, file: 'recorded' });
}

/** The built-in world of that name; undefined if there is none. */
export function builtInWorld(name: string, options: { readonly now?: Instant } = {}): World | undefined {
  return BUILT_IN_WORLDS.get(name)?.(options);
}

export function builtInWorldNames(): string[] {
  return [...BUILT_IN_WORLDS.keys()];
}

/** Two nodes with storage, templates and documented credentials: what `proxwright sim` serves by default. */
export function defaultWorld(options: { readonly now?: Instant } = {}): World {
  return buildWorld(DEFAULT_WORLD, { now: options.now ?? VIRTUAL_START, file: 'default' });
}

/** For other tools, which open SSH to the address that the API reports: it must stay on this machine. */
function recordedOnLoopback(options: { readonly now?: Instant } = {}): World {
  const nodes = Object.entries(RECORDED_WORLD.nodes).map(([name, node], index) => {
    const address = `127.10.0.1${index + 1}`;
    const bridges = Object.entries(node.bridges ?? {}).map(([id, bridge]) => [
      id,
      bridge.cidr === undefined ? bridge : { ...bridge, cidr: `${address}/24` },
    ]);
    return [name, { ...node, address, bridges: Object.fromEntries(bridges) }] as const;
  });
  const file = { ...RECORDED_WORLD, nodes: Object.fromEntries(nodes) };
  return buildWorld(file, { now: options.now ?? VIRTUAL_START, file: 'recorded' });
}

const BUILT_IN_WORLDS: ReadonlyMap<string, typeof defaultWorld> = new Map([
  ['default', defaultWorld],
  ['recorded', recordedOnLoopback],
  ['bare', bareWorld],
  ['bare-cluster', bareClusterWorld],
]);
