/**
 * `proxwright adopt`: takes over running VMs. It writes the stack file that describes them, or adds to an existing one,
 * and records them in the state. No VM is changed, except by `--claim`, which writes ownership lines.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Address } from '../../../base/address.ts';
import { canceled, ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { counted } from '../../../base/values/units.ts';
import { type EditDeps, editState } from '../../../engine/state-edit.ts';
import { importExisting } from '../../../engine/take-over.ts';
import type { Observed } from '../../../kinds/observed.ts';
import { emptyState } from '../../../kinds/recorded.ts';
import type { ResolvedStack } from '../../../kinds/stack.ts';
import { type Adoption, foundVms, planAdoption } from '../../../kinds/vm/adopt/adopt.ts';
import {
  type Adoptable,
  type Choice,
  type Guest,
  readGuests,
  survey,
  unmatched,
} from '../../../kinds/vm/adopt/survey.ts';
import { terraformText } from '../../../kinds/vm/adopt/terraform-text.ts';
import { readHa } from '../../../kinds/vm/observe/ha.ts';
import { knownAddresses } from '../../../kinds/vm/take-over/known-addresses.ts';
import { takeOver } from '../../../kinds/vm/take-over/take-over.ts';
import type { Pve } from '../../../pve/index.ts';
import { loadStack, resolveStack } from '../../../spec/index.ts';
import { readState } from '../../../state/state-file.ts';
import { badOption, type CommandDeps, type ExitCode, type StackOptions } from '../../command.ts';
import { requireConsent } from '../../consent.ts';
import { connect } from '../../stack/connect.ts';
import { type OpenedStack, openReadStack, openStack } from '../../stack/open.ts';
import { findStackFile, readStack, stackNameOf } from '../../stack/read.ts';
import { editDeps } from '../../stack/run.ts';
import { type AdoptView, adoptView } from '../../views/adopt.ts';
import { unwritable } from '../../write-file.ts';
import { writeCompanions } from '../init.ts';

export interface AdoptOptions extends StackOptions, ChoiceOptions {
  /** Name of a new stack. */
  readonly stack?: string;
  readonly claim?: boolean;
  readonly format: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const NEW_FILE = 'stack.yaml';

export async function runAdopt(options: AdoptOptions, deps: CommandDeps): Promise<ExitCode> {
  const view = adoptView(deps);
  const isTerraform = options.format === 'terraform';
  const present = isTerraform ? undefined : (options.file ?? (await findStackFile(deps.directory)));
  const text = present === undefined ? undefined : await readIfThere(resolve(deps.directory, present));
  const file = present ?? NEW_FILE;
  const opened = text === undefined ? await openNew(file, options, deps) : await openStack({ ...options, file }, deps);
  const pve = await connect(opened, deps);
  const controller = new AbortController();
  void deps.stopRequested().then(() => controller.abort(canceled()));
  const { signal } = controller;
  try {
    const { stack } = opened;
    const guests = await readGuests(pve, signal);
    const choice = await choiceOf(options, guests, deps, view);
    for (const each of unmatched(guests, choice)) deps.terminal.log('warn', each);
    if (isTerraform) {
      const found = await survey({ pve, signal, state: emptyState(stack.name), stackName: stack.name }, guests, choice);
      view.terraform(found, terraformText(foundVms(found, await readHa(pve, signal))));
      return 0;
    }
    const state = await readState(opened.store, stack.name);
    const adoption = await planAdoption({
      pve,
      signal,
      guests,
      choice,
      state,
      stack,
      file,
      text,
      claims: options.claim === true,
      resolve: async (changed) =>
        text === undefined
          ? resolveStack(loadStack(changed, file), { environment: deps.environment })
          : readStack({ ...options, file }, deps, () => changed),
    });
    if (!('places' in adoption)) {
      view.nothing(adoption);
      return 0;
    }
    return await adopt({ opened, pve, signal, adoption, before: text, options, deps, view });
  } finally {
    await pve.close();
  }
}

interface Work {
  readonly opened: OpenedStack;
  readonly pve: Pve;
  readonly signal: AbortSignal;
  readonly adoption: Adoption;
  /** Text of an existing file. */
  readonly before: string | undefined;
  readonly options: AdoptOptions;
  readonly deps: CommandDeps;
  readonly view: AdoptView;
}

async function adopt(work: Work): Promise<ExitCode> {
  const { opened, adoption, before, options, deps, view } = work;
  const { file } = opened;
  const { text, places } = adoption;
  const isNew = before === undefined;
  view.chosen(adoption);
  if (options.dryRun || (!isNew && text !== before)) view.text({ file, before: before ?? '', after: text, isNew });
  if (options.dryRun) return 0;
  if (!isNew && text !== before) {
    const question = `Change ${file} like this, and record ${counted(places.length, 'VM')}?`;
    await requireConsent(deps, options, 'adopt', question);
  }
  await write(resolve(deps.directory, file), file, text, isNew);
  if (isNew) await writeCompanions(deps);
  const remarks = await record(work);
  view.adopted({
    file,
    stack: opened.stack.name,
    isNew,
    isChanged: text !== before,
    claims: options.claim === true,
    remarks,
  });
  return 0;
}

/** A new stack, which exists only in memory so far. */
async function openNew(file: string, options: AdoptOptions, deps: CommandDeps): Promise<OpenedStack> {
  const name = options.stack ?? stackNameOf(basename(resolve(deps.directory)));
  const { stack, diagnostics } = resolveStack(loadStack(`version: 1\nstack: ${JSON.stringify(name)}\n`, '--stack'), {
    environment: deps.environment,
  });
  return openReadStack({ file, ...(stack && { stack }), diagnostics, variableFiles: [], lockTimeoutMs: 0 }, deps);
}

async function record({ opened, pve, signal, adoption, options, deps }: Work): Promise<string[]> {
  const { stack, places, survey: found, ha } = adoption;
  const edit = await editDeps(opened, deps, 'adopt');
  if (options.claim) {
    const remarks: string[] = [];
    for (const { address, vm } of places) {
      const result = await importExisting({ ...edit, pve, log: deps.terminal, signal, stack, address, vmid: vm.vmid });
      remarks.push(...result.remarks.map((remark) => `${address}: ${remark}`));
    }
    return remarks;
  }
  const observed = new Map(found.taken.map((vm) => [vm.vmid, vm]));
  const vms = places.flatMap(({ address, vm }) => {
    const real = observed.get(vm.vmid);
    return real ? [{ address, observed: real }] : [];
  });
  return recordAdopted({ ...edit, pve, signal, stack, vms, ha });
}

async function write(path: string, shown: string, text: string, isNew: boolean): Promise<void> {
  try {
    await writeFile(path, text, { flag: isNew ? 'wx' : 'w' });
  } catch (error) {
    throw unwritable(shown, error);
  }
}

/** An unreadable file exists, too: opening the stack says why. */
async function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? undefined : ''));
}

interface ChoiceOptions {
  readonly pool?: readonly string[];
  readonly tag?: readonly string[];
  readonly node?: readonly string[];
  readonly name?: readonly string[];
  readonly ids?: readonly string[];
  readonly all?: boolean;
}

const EVERYTHING: Choice = { pools: [], tags: [], nodes: [], names: [], ids: [] };

/** Which VMs the user wants to adopt: by options, or asked on the terminal. */
export async function choiceOf(
  options: ChoiceOptions,
  guests: readonly Guest[],
  deps: CommandDeps,
  view: AdoptView,
): Promise<Choice> {
  const { pool = [], tag = [], node = [], name = [], ids = [], all = false } = options;
  const given = { pools: pool, tags: tag, nodes: node, names: name, ids: ids.map(idRange) };
  if (all || Object.values(given).some(({ length }) => length > 0)) return given;
  if (!deps.canAsk) throw needsChoice();
  view.guests(guests);
  const answer = await deps.ask('Which VMs? "all", or names, patterns and ids such as web-* 100-199: ');
  return wordsOf(answer ?? '');
}

function wordsOf(answer: string): Choice {
  const words = answer.split(/[\s,]+/).filter((word) => word !== '');
  if (words.length === 0) throw canceled('Nothing was changed.');
  if (words.includes('all')) return EVERYTHING;
  const isId = (word: string) => /^\d+(-\d+)?$/.test(word);
  const [ids, names] = [words.filter(isId), words.filter((word) => !isId(word))];
  // A list of ids and names means any of them.
  return { ...EVERYTHING, names, ids: ids.map(idRange), ...(names.length > 0 && ids.length > 0 && { either: true }) };
}

function idRange(text: string): readonly [number, number] {
  const [, first, last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(text.trim()) ?? [];
  if (first !== undefined && Number(first) <= Number(last)) return [Number(first), Number(last)];
  throw badOption('--ids', `"${text}" is neither an id nor a range of ids.`, 'For example: --ids 100-199');
}

function needsChoice(): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: 'proxwright adopt' },
    detail: 'The command does not say which VMs to adopt, and there is no terminal to ask on.',
    hint: advice`Choose them: ${command('adopt', '--pool', 'POOL')}. Other ways: --tag, --node, --name, --ids, or --all.`,
  });
}

interface RecordInput extends Omit<EditDeps, 'stackName'> {
  readonly pve: Pve;
  readonly signal: AbortSignal;
  readonly stack: ResolvedStack;
  readonly vms: readonly { readonly address: Address; readonly observed: Adoptable }[];
  readonly ha: NonNullable<Observed['ha']>;
}

/** Records them in the state, with their identity and what the file says of them. Returns what could not be determined. */
export async function recordAdopted(input: RecordInput): Promise<string[]> {
  const { stack, vms, ha } = input;
  const inFile = new Map(stack.vms.map((vm) => [vm.address, vm]));
  const subjects = vms.map(({ address, observed }) => {
    const declared = inFile.get(address);
    return { address, observed, fields: declared?.fields, sensitive: declared?.sensitive };
  });
  const addresses = await knownAddresses(input, subjects);
  return editState({ ...input, stackName: stack.name }, async (memory) => {
    for (const { address, observed } of subjects) {
      const known = memory.state.vms[address];
      if (known && known.vmid !== observed.vmid) {
        throw new ProxwrightError({
          code: 'VMID_TAKEN',
          where: { address },
          detail: `${address} is already VM ${known.vmid} (${known.name}). Nothing was recorded.`,
        });
      }
    }
    for (const subject of subjects) {
      const { address } = subject;
      const { vm } = takeOver({
        ...subject,
        stackName: stack.name,
        lineage: memory.state.lineage,
        addresses: addresses.get(address)?.addresses ?? {},
        ha,
      });
      await memory.recordEdit(`${address}/adopt`, address, [{ event: 'learned', patch: { address, vm } }]);
    }
    return subjects.flatMap(({ address }) => {
      const unknown = addresses.get(address)?.unknown;
      return unknown === undefined
        ? []
        : [`${address}: no address is known on ${unknown}. The outputs contain null for it.`];
    });
  });
}
