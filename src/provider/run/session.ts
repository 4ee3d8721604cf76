/** A run of the engine for one resource: what it remembers comes from the host's state and goes back there, nothing is on disk. */
import { hostname } from 'node:os';
import type { Address } from '../../base/address.ts';
import { Session } from '../../engine/session.ts';
import type { ImageSources } from '../../kinds/image/steps.ts';
import type { StackState } from '../../kinds/recorded.ts';
import type { ResolvedStack, Rollout } from '../../kinds/stack.ts';
import type { ResolvedSecret } from '../../kinds/vm/desired-config.ts';
import { MemoryStore } from '../../state/memory-store.ts';
import { writeState } from '../../state/state-file.ts';
import type { Surroundings } from '../surroundings.ts';
import { ownerName } from '../vm/owner.ts';
import { SessionIds } from '../vm/session-ids.ts';

export interface EngineRun {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  /** By address, then by field path. */
  readonly secrets: ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>;
  /** Undefined where nothing is sent from here. */
  readonly sources?: ImageSources;
}

/** A stack that consists of what one resource is. */
export function stackOf(
  { work, rollout }: Surroundings,
  parts: Partial<Pick<ResolvedStack, 'images' | 'templates' | 'vms'>>,
  timeouts: Partial<Rollout['timeouts']>,
): ResolvedStack {
  return {
    name: ownerName(work),
    connection: {},
    images: [],
    templates: [],
    vms: [],
    ...parts,
    rollout: { ...rollout, timeouts: { ...rollout.timeouts, ...timeouts } },
    outputs: {},
  };
}

/** `label` tells sessions of one process apart, also those of resources with the same name. */
export async function withEngineRun<Result>(
  surroundings: Surroundings,
  { stack, state, secrets, sources }: EngineRun,
  label: string,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const { clock, random, log, ports, signal, limits, ids } = surroundings;
  const store = new MemoryStore();
  await writeState(store, state);
  const session = await Session.open({
    pve: surroundings.work,
    clock,
    random: random.fork(label),
    log,
    store,
    ports,
    sources,
    signal,
    limits,
    ids: new SessionIds(ids),
    stack,
    secrets,
    owner: { who: 'terraform', host: hostname(), pid: process.pid, command: 'terraform' },
    onEvent: (event) => {
      if (event.event === 'activity') log.log('debug', `${event.address}: ${event.text}`);
    },
  });
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}
