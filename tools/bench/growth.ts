/**
 * What a world ten times as large costs. Each operation is measured in a small and in a large world and stated per unit:
 * lists per VM, everything else per call. A ratio near 1 means that the unit costs the same in both, up to 2 is the price
 * of caches and of collecting garbage, and a ratio near the growth of the world itself means a full scan where none should
 * be. `tests/simulation/scale.sim.test.ts` counts the same thing without a clock.
 */

import type { WireRequest } from '../../src/base/transport.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { createSimulator, type Simulator, seededRandom } from '../../src/simulator/index.ts';
import { type Measured, measure } from './measure.ts';
import { dataOf, get, ok, send } from './requests.ts';
import { largeWorld, NODE, TEMPLATE, TENANT_AUTHORIZATION } from './world.ts';

export interface Growth {
  readonly operation: string;
  /** What the time is stated per. */
  readonly unit: 'VM' | 'call';
  readonly smallMs: number;
  readonly largeMs: number;
  readonly ratio: number;
}

interface Bench {
  readonly clock: VirtualClock;
  readonly simulator: Simulator;
  readonly vmCount: number;
  readonly budgetMs: number;
}

interface Operation {
  readonly name: string;
  readonly unit: Growth['unit'];
  measure(bench: Bench): Promise<Measured>;
}

const NEW_ID = 900_000;

const reading = (name: string, unit: Growth['unit'], request: WireRequest): Operation => ({
  name,
  unit,
  measure: ({ simulator, budgetMs }) => measure(budgetMs, () => ok(simulator.handle(request))),
});

const OPERATIONS: readonly Operation[] = [
  reading('GET /cluster/resources', 'VM', get('/cluster/resources')),
  reading('GET /cluster/resources, a tenant of one pool in ten', 'VM', get('/cluster/resources', TENANT_AUTHORIZATION)),
  reading(`GET /nodes/${NODE}/qemu`, 'VM', get(`/nodes/${NODE}/qemu`)),
  reading('GET /access/permissions, a tenant', 'VM', get('/access/permissions', TENANT_AUTHORIZATION)),
  reading('GET …/config', 'call', get(`/nodes/${NODE}/qemu/1000/config`)),
  reading('GET /access/permissions?path=', 'call', get('/access/permissions?path=/vms/1000', TENANT_AUTHORIZATION)),
  reading('GET /cluster/nextid', 'call', get('/cluster/nextid')),
  { name: 'clone (linked) until the task has ended', unit: 'call', measure: cloning },
  { name: 'poll of one task', unit: 'call', measure: polling },
];

export async function benchGrowth(
  sizes: { readonly small: number; readonly large: number },
  budgetMs: number,
): Promise<readonly Growth[]> {
  const [small, large] = [sizes.small, sizes.large].map((vmCount) => prepare(vmCount, budgetMs));
  if (!small || !large) return [];
  const results: Growth[] = [];
  for (const { name, unit, measure: take } of OPERATIONS) {
    const per = (measured: Measured, { vmCount }: Bench) => measured.medianMs / (unit === 'VM' ? vmCount : 1);
    const smallMs = per(await take(small), small);
    const largeMs = per(await take(large), large);
    results.push({ operation: name, unit, smallMs, largeMs, ratio: largeMs / smallMs });
  }
  return results;
}

function prepare(vmCount: number, budgetMs: number): Bench {
  const clock = new VirtualClock();
  const simulator = createSimulator({ world: largeWorld(vmCount, clock.now()), clock, random: seededRandom('bench') });
  return { clock, simulator, vmCount, budgetMs };
}

/** Virtual time: the copying itself costs nothing, what is left is the work of the simulator. */
function cloning({ clock, simulator, budgetMs }: Bench): Promise<Measured> {
  const finished = (request: WireRequest) =>
    clock.run(async () => simulator.runtime.tasks.ended(String(await dataOf(simulator.handle(request)))));
  return measure(
    budgetMs,
    () => finished(send('POST', `/nodes/${NODE}/qemu/${TEMPLATE}/clone`, { newid: NEW_ID })),
    () => finished({ method: 'DELETE', target: `/api2/json/nodes/${NODE}/qemu/${NEW_ID}`, headers: get('').headers }),
  );
}

async function polling({ clock, simulator, budgetMs }: Bench): Promise<Measured> {
  const request = send('POST', `/nodes/${NODE}/qemu/${TEMPLATE}/clone`, { newid: NEW_ID });
  const upid = String(await clock.run(() => dataOf(simulator.handle(request))));
  const status = get(`/nodes/${NODE}/tasks/${encodeURIComponent(upid)}/status`);
  return measure(budgetMs, () => ok(simulator.handle(status)));
}
