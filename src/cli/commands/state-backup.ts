/** `proxwright state backup|restore`: keeping what is remembered, and getting it back. */
import { resolve } from 'node:path';
import { counted } from '../../base/count.ts';
import { ProxwrightError, toDiagnostic } from '../../base/errors.ts';
import { advice, command, type Hint } from '../../base/hint.ts';
import { differingOf } from '../../engine/evidence/record.ts';
import { compareWithCluster, type Standing } from '../../engine/recover.ts';
import { readStateIfSound, replaceState } from '../../engine/state-edit.ts';
import { readTextFile } from '../../local/text-file.ts';
import type { Pve } from '../../pve/index.ts';
import { unfinishedRuns } from '../../state/journal.ts';
import type { StackState } from '../../state/stack-state.ts';
import { listBackups, parseState, readState } from '../../state/state-file.ts';
import type { StateStore } from '../../state/store.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { connect } from '../connect.ts';
import { requireConsent } from '../consent.ts';
import { editDoors } from '../edit-doors.ts';
import type { StackHost } from '../opened-stack.ts';
import { look } from '../read-only-plan.ts';
import { openStack } from '../stack-host.ts';
import { paintFor } from '../views/paint.ts';
import { renderPlan } from '../views/plan-view.ts';
import { renderTable } from '../views/table.ts';
import { writePrivateFile } from '../written-file.ts';
import { countVms, type StateOptions } from './state.ts';

/** Backups that somebody asked for: never removed by us, unlike the automatic ones. */
const SAVED = 'saved/';
const STATE_FILE = 'state.json';

export interface BackupOptions extends StateOptions {
  /** A file elsewhere, instead of a name. */
  readonly out?: string;
}

export async function runStateBackup(
  name: string | undefined,
  options: BackupOptions,
  host: CommandHost,
): Promise<ExitCode> {
  const { stack, store } = await openStack(options, host);
  const state = await readState(store, stack.name);
  const text = await store.read(STATE_FILE);
  if (text === undefined) {
    host.terminal.log('info', 'There is no state to back up yet.');
    return 0;
  }
  if ((await unfinishedRuns(store)).length > 0) {
    const missing = 'what it learned is in its journal, and not in this copy. Take it up first: proxwright apply';
    host.terminal.log('warn', `A run has not ended: ${missing}`);
  }
  if (options.out !== undefined) {
    if (name !== undefined)
      throw badName(name, advice`Give a name, or a file: ${command('state backup', '--out', 'FILE')}`);
    await writePrivateFile(resolve(host.directory, options.out), text, options.out);
    if (host.json) host.terminal.result(JSON.stringify({ file: options.out, serial: state.serial }));
    host.terminal.success(
      `Backed up to ${options.out} (serial ${state.serial}, ${countVms(state)}). Bring it back: proxwright state restore ${options.out}`,
    );
    return 0;
  }
  const chosen = name ?? new Date(host.clock.now()).toISOString().replace(/[:.]/g, '-');
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(chosen)) {
    throw badName(
      chosen,
      advice`A name has letters, digits, dots, hyphens and underscores: ${command('state backup', 'before-upgrade')}`,
    );
  }
  const document = `${SAVED}${chosen}.json`;
  if ((await store.read(document)) !== undefined)
    throw badName(
      chosen,
      advice`There is a backup of that name already. Choose another: ${command('state backup', 'NAME')}`,
    );
  await store.write(document, text);
  if (host.json) host.terminal.result(JSON.stringify({ backup: chosen, serial: state.serial }));
  host.terminal.success(`Backed up as "${chosen}" (serial ${state.serial}, ${countVms(state)}).`);
  return 0;
}

function badName(name: string, hint: Hint | string): ProxwrightError {
  return new ProxwrightError({ code: 'BAD_VALUE', detail: `"${name}" cannot be the name of a new backup.`, hint });
}

export async function runStateRestore(
  name: string | undefined,
  options: StateOptions,
  host: CommandHost,
): Promise<ExitCode> {
  const stackHost = await openStack(options, host);
  const { store, stack } = stackHost;
  if (name === undefined) return listAll(store, host);
  const backup = await readBackup(store, stack.name, name, host);
  const current = await readStateIfSound(store, stack.name);
  host.terminal.log('info', `"${name}" has serial ${backup.serial}; the present state has ${current.serial}.`);
  const lost = Object.keys(current.vms).filter((address) => !backup.vms[address]);
  if (lost.length > 0) host.terminal.log('warn', `It does not know ${lost.join(', ')}; they would be forgotten.`);
  await reportStandings(stackHost, backup, host);
  await requireConsent(host, options, `state restore ${name}`, `Restore ${countVms(backup)} from "${name}"?`);
  await replaceState(editDoors(stackHost, host, 'state restore'), backup);
  const { serial } = await readState(store, stack.name);
  if (host.json) host.terminal.result(JSON.stringify({ restored: name, serial }));
  host.terminal.success(`Restored as serial ${serial}; what was there before is kept as a backup.`);
  await reportDrift(stackHost, host);
  return 0;
}

/** What the restored state makes of the cluster: a plan that is only looked at. Whatever it says, the state is restored. */
async function reportDrift(stackHost: StackHost, host: CommandHost): Promise<void> {
  await whereReachable(stackHost, host, async (pve) => {
    const { result, unknown } = await look(stackHost, host, pve, {});
    const differing = result.ok ? differingOf(result.plan) : [];
    const problems = result.ok ? [] : result.problems;
    if (host.json) host.terminal.result(JSON.stringify({ drift: { differing, problems } }));
    for (const problem of problems) host.terminal.diagnostic(problem);
    if (!result.ok) return host.terminal.log('warn', 'With this state no plan can be made yet; see above.');
    const open = differing.length + unknown.length;
    if (open === 0) return host.terminal.success('No drift: cluster, file and restored state agree.');
    if (!host.json) for (const line of renderPlan(result.plan, paintFor(host.stdout))) host.terminal.result(line);
    host.terminal.log(
      'warn',
      `${counted(open, 'VM differs', 'VMs differ')} from what was restored; nothing was changed. Settle it: proxwright apply`,
    );
  });
}

async function listAll(store: StateStore, host: CommandHost): Promise<ExitCode> {
  const documents = [...(await store.list(SAVED)), ...(await listBackups(store)).toReversed()];
  const rows = await Promise.all(
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
  if (host.json) host.terminal.result(JSON.stringify(rows));
  else if (rows.length === 0) host.terminal.log('info', 'There is no backup yet.');
  else {
    const cells = rows.map(({ name, serial, vms, readable }) => [
      name,
      String(serial ?? ''),
      String(vms ?? ''),
      readable ? '' : 'damaged',
    ]);
    const lines = renderTable(['backup', 'serial', 'VMs', 'note'], cells, paintFor(host.stdout));
    for (const line of lines) host.terminal.result(line);
    host.terminal.log('info', 'Bring one back: proxwright state restore NAME');
  }
  return 0;
}

const nameOf = (document: string) => document.replace(/^[^/]+\//, '').replace(/\.json$/, '');

/** A backup by its name, or a file. One of another stack is refused. */
async function readBackup(store: StateStore, stack: string, name: string, host: CommandHost): Promise<StackState> {
  const documents = [...(await store.list(SAVED)), ...(await listBackups(store))];
  const document = documents.find((each) => nameOf(each) === name);
  const hint = advice`See which there are: ${command('state restore')}`;
  const text =
    document === undefined
      ? await readTextFile(resolve(host.directory, name), 'a backup of the state', hint, name)
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

const STANDINGS: Readonly<Record<Standing['standing'], string>> = {
  same: 'as remembered',
  gone: 'gone from the cluster: the next plan makes it again',
  another: 'another VM has this id now: it is not touched',
  hidden: 'not checked: the token needs VM.Audit',
  unfinished: 'was being made',
};

/** What has happened to the VMs since. */
async function reportStandings(stackHost: StackHost, state: StackState, host: CommandHost): Promise<void> {
  await whereReachable(stackHost, host, async (pve) => {
    const standings = await compareWithCluster({ pve }, state);
    if (host.json) host.terminal.result(JSON.stringify({ standings }));
    else for (const line of renderStandings(standings, host)) host.terminal.result(line);
  });
}

/** A cluster that cannot be reached does not stand in the way. */
async function whereReachable(
  stackHost: StackHost,
  host: CommandHost,
  work: (pve: Pve) => Promise<void>,
): Promise<void> {
  try {
    const pve = await connect(stackHost, host);
    try {
      await work(pve);
    } finally {
      await pve.close();
    }
  } catch (error) {
    const { summary, detail } = toDiagnostic(error);
    host.terminal.log('warn', `It was not compared with the cluster: ${summary}. ${detail}`);
  }
}

function renderStandings(standings: readonly Standing[], host: CommandHost): string[] {
  const paint = paintFor(host.stdout);
  const rows = standings.map(({ address, vmid, name, node, standing }) => [
    address,
    String(vmid),
    name,
    node ?? '',
    paint(standing === 'same' ? 'green' : 'yellow', STANDINGS[standing]),
  ]);
  return rows.length === 0 ? [] : renderTable(['address', 'id', 'name', 'node', 'in the cluster'], rows, paint);
}
