/**
 * When the HA managers run: in fixed rounds, like the real daemons, but only while work is left. A cluster whose
 * resources are as requested needs no timers.
 */
import { randomInteger } from '../../base/random.ts';
import type { Runtime } from '../core/runtime.ts';
import { agentRound, isSettled, managerRound } from './manager.ts';
import type { Rounds } from './state.ts';

/** Rule [source HA CRM.pm work]: an idle manager looks every 5 s, a working one every 10 s; so do those of the nodes. */
const IDLE_ROUND_MS = 5_000;
const ROUND_MS = 10_000;

/** Loops that wait for the next round. */
const awake = new WeakSet<Runtime>();

/** Orders that were running when the world was saved have no worker any more. */
export function resumeHa(runtime: Runtime): void {
  for (const service of runtime.world.ha.services.values()) service.working = undefined;
  wakeHa(runtime);
}

/** Call it after every change that the managers may react to. */
export function wakeHa(runtime: Runtime): void {
  const { ha } = runtime.world;
  if (awake.has(runtime) || (ha.resources.size === 0 && ha.services.size === 0) || isSettled(runtime.world)) return;
  awake.add(runtime);
  void keepRounds(runtime);
}

async function keepRounds(runtime: Runtime): Promise<void> {
  const { world, clock } = runtime;
  const { ha } = world;
  while (!isSettled(world)) {
    ha.manager = upcoming(runtime, ha.manager);
    for (const node of world.nodes.keys()) ha.agents.set(node, upcoming(runtime, ha.agents.get(node)));
    const due = Math.min(ha.manager.nextAt, ...[...ha.agents.values()].map((agent) => agent.nextAt));
    await clock.sleep(due - clock.now());
    if (ha.manager.nextAt <= due) {
      managerRound(world);
      ha.manager = { isActive: true, nextAt: due + ROUND_MS };
    }
    for (const [node, agent] of ha.agents)
      if (agent.nextAt <= due) ha.agents.set(node, agentTurn(runtime, node, agent));
  }
  awake.delete(runtime);
}

/** The next round in the daemon's rhythm; the first one may be anywhere within it. */
function upcoming(runtime: Runtime, rounds: Rounds | undefined): Rounds {
  const now = runtime.clock.now();
  if (!rounds) return { isActive: false, nextAt: now + randomInteger(runtime.random, 1, IDLE_ROUND_MS) };
  const everyMs = rounds.isActive ? ROUND_MS : IDLE_ROUND_MS;
  const missed = Math.max(0, Math.ceil((now - rounds.nextAt) / everyMs));
  return { ...rounds, nextAt: rounds.nextAt + missed * everyMs };
}

/** When a daemon last ran. */
export function lastRoundAt(runtime: Runtime, rounds: Rounds): number {
  return upcoming(runtime, rounds).nextAt - (rounds.isActive ? ROUND_MS : IDLE_ROUND_MS);
}

/** Rule [source HA LRM.pm work]: a node that gets its first service becomes active and works on it at once. */
function agentTurn(runtime: Runtime, node: string, agent: Rounds): Rounds {
  const isActive = agent.isActive || [...runtime.world.ha.services.values()].some((service) => service.node === node);
  if (isActive) agentRound(runtime, node, () => wakeHa(runtime));
  return { isActive, nextAt: agent.nextAt + (isActive ? ROUND_MS : IDLE_ROUND_MS) };
}
