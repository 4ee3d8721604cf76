/** `proxwright state backup|restore`: saves the state under a name, and restores it. */
import { resolve } from 'node:path';
import { ProxwrightError, toDiagnostic } from '../../../base/errors.ts';
import { advice, command, type Hint } from '../../../base/hint.ts';
import { shellWord } from '../../../base/text/shell.ts';
import { differingOf } from '../../../engine/evidence/record.ts';
import { readStateIfSound, replaceState } from '../../../engine/state-edit.ts';
import { compareWithCluster } from '../../../engine/take-over.ts';
import type { StackState } from '../../../kinds/recorded.ts';
import { readTextFile } from '../../../local/text-file.ts';
import type { Pve } from '../../../pve/index.ts';
import { unfinishedRuns } from '../../../state/journal.ts';
import { listBackups, parseState, readState, STATE_FILE } from '../../../state/state-file.ts';
import type { StateStore } from '../../../state/store.ts';
import type { CommandDeps, ExitCode } from '../../command.ts';
import { requireConsent } from '../../consent.ts';
import { connect } from '../../stack/connect.ts';
import { type OpenedStack, openStack } from '../../stack/open.ts';
import { tryPlan } from '../../stack/planning.ts';
import { editDeps } from '../../stack/run.ts';
import { toType } from '../../terminal.ts';
import { countVms, stateView } from '../../views/state.ts';
import { writePrivateFile } from '../../write-file.ts';
import type { StateOptions } from './state.ts';

/** Backups that the user asked for; unlike the automatic ones they are never removed. */
const SAVED = 'saved/';

/** Enough for thousands of VMs. */
const MAX_BACKUP_BYTES = 256 * 1024 ** 2;

export interface BackupOptions extends StateOptions {
  /** A file elsewhere, instead of a name. */
  readonly out?: string;
}

export async function runStateBackup(
  name: string | undefined,
  options: BackupOptions,
  deps: CommandDeps,
): Promise<ExitCode> {
  const { stack, store } = await openStack(options, deps);
  const state = await readState(store, stack.name);
  const text = await store.read(STATE_FILE);
  if (text === undefined) {
    deps.terminal.log('info', 'There is no state to back up yet.');
    return 0;
  }
  if ((await unfinishedRuns(store)).length > 0) {
    const missing = `Its results are in its journal, and not in this copy. Resume it first: ${toType(deps.terminal, 'apply')}`;
    deps.terminal.log('warn', `A run is unfinished. ${missing}`);
  }
  if (options.out !== undefined) {
    if (name !== undefined) throw badName(name, 'Give either a name or a file: proxwright state backup --out FILE');
    await writePrivateFile(resolve(deps.directory, options.out), text, options.out);
    stateView(deps).backedUp({ file: options.out }, state);
    return 0;
  }
  const chosen = name ?? new Date(deps.clock.now()).toISOString().replace(/[:.]/g, '-');
  await store.write(await freeDocument(chosen, store), text);
  stateView(deps).backedUp({ backup: chosen }, state);
  return 0;
}

async function freeDocument(name: string, store: StateStore): Promise<string> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    throw badName(
      name,
      advice`A name consists of letters, digits, dots, hyphens and underscores: ${command('state backup', 'before-upgrade')}`,
    );
  }
  const document = `${SAVED}${name}.json`;
  if ((await store.read(document)) === undefined) return document;
  throw badName(name, advice`A backup with this name exists. Choose another name: ${command('state backup', 'NAME')}`);
}

function badName(name: string, hint: Hint | string): ProxwrightError {
  return new ProxwrightError({ code: 'BAD_VALUE', detail: `"${name}" cannot be the name of a new backup.`, hint });
}

export async function runStateRestore(
  name: string | undefined,
  options: StateOptions,
  deps: CommandDeps,
): Promise<ExitCode> {
  const opened = await openStack(options, deps);
  const { store, stack } = opened;
  if (name === undefined) return listAll(store, deps);
  const backup = await readBackup(store, stack.name, name, deps);
  const current = await readStateIfSound(store, stack.name);
  deps.terminal.log('info', `"${name}" has serial ${backup.serial}; the current state has ${current.serial}.`);
  const lost = Object.keys(current.vms).filter((address) => !backup.vms[address]);
  if (lost.length > 0)
    deps.terminal.log('warn', `It does not contain ${lost.join(', ')}; the state would forget them.`);
  await ifReachable(opened, deps, async (pve) => {
    stateView(deps).standings(await compareWithCluster({ pve }, backup));
  });
  await requireConsent(
    deps,
    options,
    `state restore ${shellWord(name)}`,
    `Restore ${countVms(backup)} from "${name}"?`,
  );
  await replaceState(await editDeps(opened, deps, 'state restore'), backup);
  const { serial } = await readState(store, stack.name);
  stateView(deps).restored(name, serial);
  await reportDrift(opened, deps);
  return 0;
}

/** Compares the restored state with the cluster. The state stays restored, whatever the result. */
async function reportDrift(opened: OpenedStack, deps: CommandDeps): Promise<void> {
  await ifReachable(opened, deps, async (pve) => {
    const { result, unsettled } = await tryPlan(opened, deps, pve, {});
    const differing = result.ok ? differingOf(result.plan) : [];
    const open = differing.length + unsettled.length;
    stateView(deps).restoredDrift(
      result.ok ? { plan: result.plan, problems: [], differing, open } : { problems: result.problems, differing, open },
    );
  });
}

/** An unreachable cluster does not prevent a restore. */
async function ifReachable(opened: OpenedStack, deps: CommandDeps, work: (pve: Pve) => Promise<void>): Promise<void> {
  try {
    const pve = await connect(opened, deps);
    try {
      await work(pve);
    } finally {
      await pve.close();
    }
  } catch (error) {
    const { summary, detail } = toDiagnostic(error);
    deps.terminal.log('warn', `The state was not compared with the cluster: ${summary}. ${detail}`);
  }
}

async function listAll(store: StateStore, deps: CommandDeps): Promise<ExitCode> {
  const documents = [...(await store.list(SAVED)), ...(await listBackups(store)).toReversed()];
  const entries = await Promise.all(
    documents.map(async (document) => {
      const [name, text] = [nameOf(document), (await store.read(document)) ?? ''];
      try {
        const state = parseState(text, document);
        return { name, serial: state.serial, vms: Object.keys(state.vms).length, readable: true };
      } catch {
        return { name, serial: undefined, vms: undefined, readable: false };
      }
    }),
  );
  stateView(deps).backups(entries);
  return 0;
}

const nameOf = (document: string) => document.replace(/^[^/]+\//, '').replace(/\.json$/, '');

/** A backup by its name, or a file. A backup of another stack is refused. */
async function readBackup(store: StateStore, stack: string, name: string, deps: CommandDeps): Promise<StackState> {
  const documents = [...(await store.list(SAVED)), ...(await listBackups(store))];
  const document = documents.find((each) => nameOf(each) === name);
  const hint = advice`To list the backups: ${command('state restore')}`;
  const text =
    document === undefined
      ? await readTextFile(resolve(deps.directory, name), 'a backup of the state', hint, name, {
          maxBytes: MAX_BACKUP_BYTES,
        })
      : ((await store.read(document)) ?? '');
  const state = parseState(text, name);
  if (state.stack === stack) return state;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: name },
    detail: `This backup belongs to the stack "${state.stack}", not to "${stack}".`,
    hint,
  });
}
