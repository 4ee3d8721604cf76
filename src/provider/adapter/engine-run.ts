/**
 * A run of the engine for one resource. Its records come from the host's state and return there; nothing is on disk.
 */
import { hostname } from 'node:os';
import type { Address } from '../../base/address.ts';
import {
  IdReservations,
  type Plan,
  type PlanResult,
  type ResolvedStack,
  Session,
  type SessionInput,
  type StackState,
} from '../../engine/index.ts';
import { emptyState } from '../../kinds/recorded.ts';
import type { Pve } from '../../pve/index.ts';
import { MemoryStore } from '../../state/memory-store.ts';
import { writeState } from '../../state/state-file.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Deps, Sources } from './deps.ts';
import { execute, problemFrom, type Subject } from './outcome.ts';
import type { Timeouts } from './timeouts.ts';

/** The lists of a stack, one for each kind of thing in it. */
export type StackContent = Omit<ResolvedStack, 'name' | 'connection' | 'rollout' | 'outputs'>;

/** One resource, as input of the engine. */
export interface EngineWork {
  readonly desired: StackContent;
  readonly recorded: Partial<StackState>;
  /** By address, then by field path. */
  readonly secrets: SessionInput['secrets'];
  readonly timeouts: Timeouts;
}

export interface EngineResult {
  readonly problems: readonly ProviderDiagnostic[];
  /** Undefined where the engine refused to plan. */
  readonly plan: Plan | undefined;
  /** What is recorded now, also after a failure. */
  readonly state: StackState;
}

/**
 * What ownership lines name instead of a stack. A provider learns neither the address of a resource nor
 * the name of its configuration, so the owner holds only what a later run knows too.
 */
export function ownerName(pve: Pick<Pve, 'principal'>): string {
  return `terraform/${pve.principal}`;
}

export function stackOf({ work, rollout }: Deps, { desired, timeouts }: EngineWork): ResolvedStack {
  return {
    name: ownerName(work),
    connection: {},
    ...desired,
    rollout: { ...rollout, timeouts: { ...rollout.timeouts, ...timeouts } },
    outputs: {},
  };
}

export function stateOf({ work }: Deps, { recorded }: EngineWork): StackState {
  return { ...emptyState(ownerName(work)), ...recorded };
}

/** Makes a plan and executes it. Expected failures come back as problems, together with what is recorded by then. */
export async function runEngine(
  deps: Deps,
  work: EngineWork,
  subject: Subject,
  plan: (session: Session) => Promise<PlanResult>,
  sources?: Sources,
): Promise<EngineResult> {
  let state = stateOf(deps, work);
  let planned: PlanResult | undefined;
  let problems: readonly ProviderDiagnostic[];
  try {
    const session = await openSession(deps, work, state, sources);
    try {
      planned = await plan(session);
      problems = await execute(session, planned, subject);
    } finally {
      state = session.state;
      await session.close();
    }
  } catch (error) {
    problems = [problemFrom(error, subject)];
  }
  return { problems, plan: planned?.ok ? planned.plan : undefined, state };
}

async function openSession(deps: Deps, work: EngineWork, state: StackState, sources?: Sources): Promise<Session> {
  const { clock, random, log, ports, signal, limits, ids } = deps;
  const store = new MemoryStore();
  await writeState(store, state);
  return Session.open({
    pve: deps.work,
    clock,
    random: random.fork(deps.runLabel()),
    log,
    store,
    ports,
    sources,
    signal,
    limits,
    ids: new RunIds(ids),
    stack: stackOf(deps, work),
    secrets: work.secrets,
    lineage: 'none',
    owner: { who: 'terraform', host: hostname(), pid: process.pid, command: 'terraform' },
    onEvent: (event) => {
      if (event.event === 'activity') log.log('debug', `${event.address}: ${event.text}`);
    },
  });
}

/**
 * Ids as one run sees them. All runs of the process share what is reserved. Ids that a run has observed in use are not
 * shared, because an id that is taken now may be free for a replacement a moment later.
 */
class RunIds extends IdReservations {
  readonly #shared: IdReservations;
  readonly #observed = new Set<number>();

  constructor(shared: IdReservations) {
    super();
    this.#shared = shared;
  }

  override reserve(id: number, address: Address): boolean {
    return !this.#observed.has(id) && this.#shared.reserve(id, address);
  }

  override markTaken(id: number): void {
    this.#observed.add(id);
  }

  override holderOf(id: number): Address | undefined {
    return this.#shared.holderOf(id);
  }
}

/** A stack without anything in it. A kind adds its one resource. */
export const EMPTY_STACK: StackContent = { images: [], templates: [], vms: [] };
