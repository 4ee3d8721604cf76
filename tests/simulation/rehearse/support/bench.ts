/** Rehearsals of a scene: the live cluster is a simulator too, so prediction and run can be compared to the millisecond. */
import { seededRandom } from '../../../../src/base/random.ts';
import type { Transport } from '../../../../src/base/transport.ts';
import { observe } from '../../../../src/engine/observe.ts';
import { planStack } from '../../../../src/engine/plan.ts';
import type { PlanOptions } from '../../../../src/engine/session.ts';
import type { Plan } from '../../../../src/kinds/change.ts';
import { type Credentials, createPve, parseToken } from '../../../../src/pve/index.ts';
import { readCluster } from '../../../../src/rehearse/copy/read-cluster.ts';
import { onceEach, type WatchedReads } from '../../../../src/rehearse/copy/watched-reads.ts';
import { type Rehearsal, rehearse } from '../../../../src/rehearse/rehearse.ts';
import { readRecorded } from '../../../../src/state/recorded.ts';
import { resolved, type Scene, secretsOf, TOKEN_SECRET } from '../../engine/support/scene.ts';

export interface Rehearsed {
  readonly rehearsal: Rehearsal;
  readonly plan: Plan;
  readonly reads: WatchedReads;
}

export interface BenchOptions extends PlanOptions {
  readonly credentials?: Credentials;
}

export async function rehearseScene(scene: Scene, text: string, options: BenchOptions = {}): Promise<Rehearsed> {
  const { credentials = parseToken(`root@pam!admin=${TOKEN_SECRET}`), ...planOptions } = options;
  const stack = resolved(text);
  const secrets = secretsOf(stack);
  let reads: WatchedReads | undefined;
  const read = await scene.clock.run(async () => {
    const transport: Transport = scene.simulator.transport();
    reads = onceEach(transport, scene.clock);
    const pve = createPve({
      transport: reads.transport,
      credentials,
      clock: scene.clock,
      random: seededRandom('reads'),
    });
    const { state } = await readRecorded(scene.store, stack.name);
    const observed = await observe({ pve, stack, state, secrets, replace: planOptions.replace });
    const facts = await readCluster({ pve, stack, observed });
    return { state, observed, facts };
  });
  if (!reads) throw new Error('nothing was read');
  const planned = planStack({ stack, ...read, secrets, now: scene.clock.now(), ...planOptions });
  if (!planned.ok) throw new Error(planned.problems.map(({ detail }) => detail).join('\n'));
  const { plan } = planned;
  const rehearsal = await rehearse({
    ...read,
    stack,
    plan,
    options: planOptions,
    secrets,
    store: scene.store,
    clock: scene.clock,
    seed: 'rehearsal',
    latencyMs: reads.latencyMs(),
  });
  return { rehearsal, plan, reads };
}
