/** A run of the engine on one VM. */
import type { Session } from '../../engine/session.ts';
import { emptyState, type StackState } from '../../kinds/recorded.ts';
import type { ResolvedStack, ResolvedVm, Rollout } from '../../kinds/stack.ts';
import type { ResolvedSecret } from '../../kinds/vm/desired-config.ts';
import type { VmRecord } from '../../kinds/vm/record.ts';
import { stackOf, withEngineRun } from '../run/session.ts';
import type { Surroundings } from '../surroundings.ts';

export interface SoloVm {
  readonly vm: ResolvedVm;
  /** Undefined for a VM that is to be made. */
  readonly remembered: VmRecord | undefined;
  /** By field path. */
  readonly secrets: ReadonlyMap<string, ResolvedSecret>;
  readonly timeouts: Partial<Rollout['timeouts']>;
}

/** The VM as a stack of its own. */
export function soloStack(surroundings: Surroundings, { vm, timeouts }: SoloVm): ResolvedStack {
  return stackOf(surroundings, { vms: [vm] }, timeouts);
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
  const stack = soloStack(surroundings, solo);
  const state = soloState(stack.name, solo);
  const secrets = new Map([[solo.vm.address, solo.secrets]]);
  return withEngineRun(surroundings, { stack, state, secrets }, label, work);
}
