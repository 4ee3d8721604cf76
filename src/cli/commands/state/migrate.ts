/** `proxwright state migrate`: moves everything that is kept about the stack to another store. */
import type { Clock } from '../../../base/clock.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { shellWord } from '../../../base/text/shell.ts';
import { shortLineage } from '../../../kinds/vm/ownership.ts';
import { openChosenStore, parseStoreAddress, STATE_VARIABLE } from '../../../local/state-store.ts';
import { closeRun, listRuns, unfinishedRuns } from '../../../state/journal.ts';
import { leftBehind, readState, STATE_FILE, tombstone } from '../../../state/state-file.ts';
import type { StateStore } from '../../../state/store.ts';
import type { CommandDeps, ExitCode } from '../../command.ts';
import { requireConsent } from '../../consent.ts';
import { openStack, storeDeps } from '../../stack/open.ts';
import { lockStore } from '../../stack/run.ts';
import { stateView } from '../../views/state.ts';
import type { StateOptions } from './state.ts';

export interface MigrateOptions extends StateOptions {
  readonly to?: string;
}

/**
 * Copies every document, reads each one back, and only then leaves a tombstone where the state was: a copy of the stack that
 * still names the old store stops there. Both stores are locked meanwhile.
 */
export async function runStateMigrate(options: MigrateOptions, deps: CommandDeps): Promise<ExitCode> {
  if (options.to === undefined) throw noTarget();
  const opened = await openStack(options, deps);
  const target = await openChosenStore(parseStoreAddress(options.to), storeDeps(opened, deps));
  const [from, to] = [opened.store.placeOf(STATE_FILE), target.placeOf(STATE_FILE)];
  if (from === to) throw sameStore(to);
  const question = `Move the state of ${opened.stack.name} from ${from} to ${to}?`;
  await requireConsent(deps, options, `state migrate --to ${shellWord(options.to)}`, question);
  const lock = await lockStore(opened, deps, 'state migrate');
  try {
    const targetLock = await lockStore({ ...opened, store: target }, deps, 'state migrate');
    try {
      const { serial, lineage } = await readState(opened.store, opened.stack.name);
      await assertFinished(opened.store);
      await assertFree(target, to, lineage);
      const documents = await copyAll(opened.store, target, deps.clock);
      await opened.store.write(STATE_FILE, tombstone(to, new Date(deps.clock.now()).toISOString(), lineage));
      stateView(deps).migrated({ from, to, documents, serial });
    } finally {
      await targetLock.release();
    }
  } finally {
    await lock.release();
  }
  return 0;
}

/** Of a local directory: downloaded images, events that were kept for a store, its name among the writers of an HTTP store, and its last lock there. */
const OF_THIS_MACHINE = /^((cache|outbox|set-aside)\/|(writer|server-lock)$)/;

/** The state is copied last: until then the target holds nothing valid. */
async function copyAll(source: StateStore, target: StateStore, clock: Clock): Promise<number> {
  const names = (await source.list()).filter((name) => !OF_THIS_MACHINE.test(name));
  const inOrder = [...names.filter((name) => name !== STATE_FILE), ...names.filter((name) => name === STATE_FILE)];
  await closeOldRuns(source, target, clock);
  for (const name of inOrder) {
    const text = (await source.read(name)) ?? '';
    await target.write(name, text);
    if ((await target.read(name)) === text) continue;
    throw new ProxwrightError({
      code: 'STATE_DAMAGED',
      where: { file: target.placeOf(name) },
      detail: 'What was read back is not what was written. The state stays where it was.',
      hint: 'Look for another program that writes there, then run the command again.',
    });
  }
  return inOrder.length;
}

/** A run that died there before the state was moved away has been resumed elsewhere: the returning state is newer. */
async function closeOldRuns(source: StateStore, target: StateStore, clock: Clock): Promise<void> {
  const known = new Set(await listRuns(source));
  for (const { runId } of await unfinishedRuns(target)) if (!known.has(runId)) await closeRun(target, clock, runId);
}

/** Only the journal shows what an unfinished run began, and some stores keep journals on one machine only. */
async function assertFinished(store: StateStore): Promise<void> {
  if ((await unfinishedRuns(store)).length === 0) return;
  throw new ProxwrightError({
    code: 'STATE_LOCKED',
    detail: 'An earlier run is unfinished.',
    hint: advice`Finish it first: ${command('apply')}`,
  });
}

/**
 * A first attempt that died leaves documents without a state, which are written again. A state may return to a store
 * where it was before.
 */
async function assertFree(target: StateStore, place: string, lineage: string | undefined): Promise<void> {
  const text = await target.read(STATE_FILE);
  if (text === undefined) return;
  const left = leftBehind(text);
  // A state that was recovered knows only the part of its lineage that the ownership lines hold.
  if (left && lineage !== undefined && shortLineage(left.lineage ?? lineage) === shortLineage(lineage)) return;
  throw new ProxwrightError({
    code: 'ALREADY_EXISTS',
    where: { file: place },
    detail: left ? `This store had another state, which was moved to ${left.movedTo}.` : 'There is a state already.',
    hint: left
      ? 'Name an empty place.'
      : 'Name an empty place. If that state is the one to use, only name its store in the stack file.',
  });
}

function noTarget(): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    detail: 'The command does not say where to move the state.',
    hint: 'Add --to: local, postgres://user@host/database, s3://bucket/prefix or https://host/path.',
  });
}

function sameStore(place: string): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: place },
    detail: 'The state is already in this store.',
    hint: `Name another store. The present one comes from "state" in the stack file or from ${STATE_VARIABLE}.`,
  });
}
