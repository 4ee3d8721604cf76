/** A run of the engine on one VM: what it remembers comes from the host's state and goes back there, nothing is on disk. */
import { hostname } from 'node:os';
import { Session } from '../../engine/session.ts';
import type { ResolvedSecret } from '../../resources/vm/wanted.ts';
import type { ResolvedStack, ResolvedVm, Rollout } from '../../spec/types.ts';
import { MemoryStore } from '../../state/memory-store.ts';
import { emptyState, type StackState, type VmState } from '../../state/stack-state.ts';
import { writeState } from '../../state/state-file.ts';
import type { Surroundings } from '../surroundings.ts';
import { ownerName } from './owner.ts';
import { SessionIds } from './session-ids.ts';

export interface SoloVm {
  readonly vm: ResolvedVm;
  /** Undefined for a VM that is to be made. */
  readonly remembered: VmState | undefined;
  /** By field path. */
  readonly secrets: ReadonlyMap<string, ResolvedSecret>;
  readonly timeouts: Partial<Rollout['timeouts']>;
}

/** The VM as a stack of its own. */
export function soloStack({ work, rollout }: Surroundings, { vm, timeouts }: SoloVm): ResolvedStack {
  return {
    name: ownerName(work),
    connection: {},
    images: [],
    templates: [],
    vms: [vm],
    rollout: { ...rollout, timeouts: { ...rollout.timeouts, ...timeouts } },
    outputs: {},
  };
}

export function soloState(stackName: string, { vm, remembered }: SoloVm): StackState {
  return { ...emptyState(stackName), vms: remembered ? { [vm.address]: remembered } : {} };
}

/** `label` tells sessions of one process apart, also those of VMs with the same name. */
export async function withSession<Result>(
  surroundings: Surroundings,
  solo: SoloVm,
  label: string,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const { clock, random, log, ports, signal, lanes, ids } = surroundings;
  const stack = soloStack(surroundings, solo);
  const store = new MemoryStore();
  await writeState(store, soloState(stack.name, solo));
  const session = await Session.open({
    pve: surroundings.work,
    clock,
    random: random.fork(label),
    log,
    store,
    ports,
    signal,
    lanes,
    ids: new SessionIds(ids),
    stack,
    secrets: new Map([[solo.vm.address, solo.secrets]]),
    owner: { who: 'terraform', host: hostname(), pid: process.pid, command: 'terraform' },
    onProgress: (progress) => {
      if (progress.kind === 'activity') log.log('debug', `${progress.address}: ${progress.text}`);
    },
  });
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}
