/** `proxwright snapshot create|list|delete` and `proxwright rollback`. */
import { type Address, covers, kindOf } from '../../../base/address.ts';
import { observe } from '../../../engine/observe.ts';
import { snapshotPlan } from '../../../engine/plan.ts';
import type { SnapshotRequest } from '../../../kinds/kind.ts';
import { sameVm } from '../../../kinds/vm/identity.ts';
import { readRecorded } from '../../../state/recorded.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../../command.ts';
import { connect } from '../../stack/connect.ts';
import { openStack } from '../../stack/open.ts';
import { checkPlanning } from '../../stack/planning.ts';
import { type SnapshotsOfVm, snapshotsView } from '../../views/change/snapshots.ts';
import { type AskedCommand, type AskedOptions, runAsked } from './asked-plan.ts';
import { type HookOptions, hookChoice } from './plan.ts';

export interface CreateOptions extends AskedOptions {
  readonly memory?: boolean;
  readonly description?: string;
}

export interface RollbackOptions extends AskedOptions, HookOptions {
  /** False with --no-start. */
  readonly start?: boolean;
}

export function runCreate(name: string, options: CreateOptions, deps: CommandDeps): Promise<ExitCode> {
  const { memory = false, description } = options;
  return run({ kind: 'create', name, memory, ...(description !== undefined && { description }) }, options, deps, {
    command: 'snapshot create',
  });
}

export function runDelete(name: string, options: AskedOptions, deps: CommandDeps): Promise<ExitCode> {
  return run({ kind: 'delete', name }, options, deps, {
    command: 'snapshot delete',
    question: { text: 'Delete these snapshots?', refused: 'Nothing was deleted.' },
  });
}

export function runRollback(name: string, options: RollbackOptions, deps: CommandDeps): Promise<ExitCode> {
  return run({ kind: 'rollback', name, start: options.start !== false }, options, deps, {
    command: 'rollback',
    // A second rollback would lose what the members that are done have written meanwhile.
    repeats: true,
    question: {
      text: 'Roll these VMs back? Data written since the snapshot is lost.',
      refused: 'Nothing was rolled back.',
    },
  });
}

function run(
  request: SnapshotRequest,
  options: AskedOptions & HookOptions,
  deps: CommandDeps,
  words: Pick<AskedCommand, 'command' | 'question' | 'repeats'>,
): Promise<ExitCode> {
  return runAsked(
    {
      ...words,
      typed: `${words.command} ${request.name}`,
      nothing: 'Nothing to do.',
      asked: snapshotPlan({ request, only: options.only ?? [], hooks: hookChoice(options) }),
    },
    options,
    deps,
  );
}

/** Without the lock: it only reads. */
export async function runList(
  options: StackOptions & { readonly only?: readonly string[] },
  deps: CommandDeps,
): Promise<ExitCode> {
  const { only = [] } = options;
  const opened = await openStack(options, deps);
  const { stack, store } = opened;
  const pve = await connect(opened, deps);
  const { state } = await readRecorded(store, stack.name);
  checkPlanning({ only }, stack, state);
  const reading = { pve, stack, state, snapshots: { only, withConfigs: false } };
  const observed = await observe({ ...reading, neighbours: 'never', chooseIds: false });
  const isMeant = (address: Address) =>
    kindOf(address) === 'vm' && (only.length === 0 || only.some((selector) => covers(selector, address)));
  const rows = [...observed.vms].flatMap(([address, found]): SnapshotsOfVm[] => {
    const recorded = state.vms[address];
    if (!isMeant(address) || !recorded) return [];
    const { vmid, name, node } = recorded;
    if (found.kind === 'hidden') return [{ address, vmid, name, node, needs: found.needs }];
    const read = observed.snapshots?.get(address);
    if (found.kind !== 'present' || !sameVm(recorded, found.vm) || !read) return [];
    const vm = { address, vmid, name, node: found.vm.node };
    if (!read.ok) return [{ ...vm, needs: read.needs }];
    return [{ ...vm, snapshots: read.value.list, current: found.vm.current.get('parent') }];
  });
  snapshotsView(deps).list(rows);
  return 0;
}
