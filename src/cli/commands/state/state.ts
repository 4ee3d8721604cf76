/** `proxwright state list|show|mv|forget|unlock`: looks at what is recorded about the stack, and corrects it. */
import { canceled, ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { shellWord } from '../../../base/text/shell.ts';
import { counted, printDuration } from '../../../base/values/units.ts';
import { forgetAddress, knownVm, moveAddress } from '../../../engine/state-edit.ts';
import { release } from '../../../engine/take-over.ts';
import { describeLock } from '../../../state/lock-refusal.ts';
import { readRecorded } from '../../../state/recorded.ts';
import type { LockHolder, LockOwner } from '../../../state/store.ts';
import type { CommandDeps, ExitCode, StackOptions } from '../../command.ts';
import { requireConsent } from '../../consent.ts';
import { connect } from '../../stack/connect.ts';
import { type OpenedStack, openStack } from '../../stack/open.ts';
import { editDeps } from '../../stack/run.ts';
import { toType } from '../../terminal.ts';
import { stateView } from '../../views/state.ts';
import { requireAddress } from '../import/import.ts';

export interface StateOptions extends StackOptions {
  readonly yes?: boolean;
}

export async function runStateList(options: StateOptions, deps: CommandDeps): Promise<ExitCode> {
  const { stack, store } = await openStack(options, deps);
  const { state, unfinished } = await readRecorded(store, stack.name);
  stateView(deps).list(state);
  if (unfinished.length > 0) {
    deps.terminal.log('warn', `An earlier run is unfinished. To resume it: ${toType(deps.terminal, 'apply')}`);
  }
  for (const { runId, events, place } of (await store.outbox?.unsent()) ?? []) {
    const what = `${counted(events, 'event')} of the run ${runId}`;
    deps.terminal.log('warn', `The store has not received ${what}. The next run on this machine sends them: ${place}`);
  }
  return 0;
}

export async function runStateShow(address: string, options: StateOptions, deps: CommandDeps): Promise<ExitCode> {
  const { stack, store } = await openStack(options, deps);
  const { state } = await readRecorded(store, stack.name);
  const file = Object.values(state.files).find((each) => each.address === address);
  if (file) stateView(deps).image(address, file);
  else stateView(deps).vm(address, knownVm(state, address));
  return 0;
}

export async function runStateMove(
  from: string,
  to: string,
  options: StateOptions,
  deps: CommandDeps,
): Promise<ExitCode> {
  const opened = await openStack(options, deps);
  const vm = await moveAddress(await editDeps(opened, deps, 'state mv'), from, requireAddress(to));
  stateView(deps).moved(from, to, vm);
  const { stack, file } = opened;
  if (!stack.vms.some(({ address }) => address === to)) {
    deps.terminal.log(
      'warn',
      `${file} does not contain ${to}. Rename it there as well, then run: ${toType(deps.terminal, 'plan')}`,
    );
  }
  return 0;
}

export interface ForgetOptions extends StateOptions {
  readonly release?: boolean;
}

export async function runStateForget(address: string, options: ForgetOptions, deps: CommandDeps): Promise<ExitCode> {
  const opened = await openStack(options, deps);
  const { state } = await readRecorded(opened.store, opened.stack.name);
  const { vmid, name } = knownVm(state, address);
  const effect = options.release ? 'loses its ownership line and otherwise stays as it is' : 'stays as it is';
  const question = `Remove ${address} from the state? VM ${vmid} (${name}) ${effect}.`;
  await requireConsent(deps, options, `state forget ${shellWord(address)}`, question);
  const released = options.release ? await forgetAndRelease(address, opened, deps) : undefined;
  if (!options.release) await forgetAddress(await editDeps(opened, deps, 'state forget'), address);
  stateView(deps).forgotten(address, vmid, released);
  return 0;
}

/** Returns whether there was an ownership line to remove. */
async function forgetAndRelease(address: string, opened: OpenedStack, deps: CommandDeps): Promise<boolean> {
  const edit = await editDeps(opened, deps, 'state forget');
  const pve = await connect(opened, deps);
  const controller = new AbortController();
  void deps.stopRequested().then(() => controller.abort(canceled()));
  const note = { ...edit, pve, signal: controller.signal, log: deps.terminal, stack: opened.stack };
  let isReleased = false;
  try {
    await forgetAddress(edit, address, async (memory) => {
      isReleased = await release(note, memory, requireAddress(address));
    });
    return isReleased;
  } finally {
    await pve.close();
  }
}

export interface UnlockOptions extends StateOptions {
  readonly force?: boolean;
  readonly id?: string;
}

/** Removes the lock of a dead run. If the run may be alive, this needs the id of that run, or --force. */
export async function runStateUnlock(options: UnlockOptions, deps: CommandDeps): Promise<ExitCode> {
  const { store } = await openStack(options, deps);
  const holder = await store.holder();
  if (!holder) {
    stateView(deps).unlocked(undefined);
    return 0;
  }
  const { owner, life } = holder;
  deps.terminal.log('info', describeLock(owner));
  if (options.id !== undefined && options.id !== owner.runId) throw otherLock(owner, options.id);
  if (life !== 'dead' && !options.force && options.id === undefined) {
    if (holder.endsInMs === undefined && life === 'alive') throw stillRuns(holder);
    deps.terminal.log('warn', doubtAbout(holder));
    await requireId(holder, options, deps);
  }
  await store.unlock({ evenOf: owner });
  stateView(deps).unlocked(holder);
  return 0;
}

function doubtAbout({ doubt, endsInMs }: LockHolder): string {
  if (endsInMs !== undefined) {
    return `That run renewed its lock a moment ago. If it dies, the lock ends by itself within ${printDuration(endsInMs)}.`;
  }
  return `This machine cannot tell whether that run is still alive${doubt === undefined ? '' : `: ${doubt}`}.`;
}

/**
 * Asks for the id, because the lock may be another one by the time of the answer. `--yes` is enough only for a lock that
 * cannot be read: a script that removes whatever lock there is would let two runs change the same VMs.
 */
async function requireId({ owner }: LockHolder, options: UnlockOptions, deps: CommandDeps): Promise<void> {
  if (options.yes && owner.runId === '') return;
  if (!deps.canAsk)
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file: 'proxwright state unlock' },
      detail: 'There is no terminal to ask for the ID of the lock on. Nothing was changed.',
      hint: advice`If you are sure that it is dead: ${command('state unlock', '--id', owner.runId)}`,
    });
  const question = `If it is alive, two runs would change the same VMs. Type the id of the lock, ${owner.runId}, to remove it: `;
  if ((await deps.ask(question))?.trim() !== owner.runId) throw canceled('Nothing was changed.');
}

function otherLock(owner: LockOwner, id: string): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_LOCKED',
    detail: `The lock has the id ${owner.runId}, not ${id}: another run took it meanwhile.`,
    hint: advice`See which run it is: ${command('state unlock')}`,
  });
}

function stillRuns({ owner }: LockHolder): ProxwrightError {
  return new ProxwrightError({
    code: 'STATE_LOCKED',
    detail: `Process ${owner.pid} is alive on this machine. Without its lock, two runs would change the same VMs.`,
    hint: advice`Wait for it, or stop it: kill ${owner.pid}. If that process is not a run of Proxwright: ${command('state unlock', '--force')}`,
  });
}
