/** The steps of an apply, with or without `--verify`: make the plan, show it, ask, execute it, write output files. */

import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Address } from '../../../base/address.ts';
import { canceled, isCanceled } from '../../../base/errors.ts';
import { shellWord } from '../../../base/text/shell.ts';
import { counted } from '../../../base/values/units.ts';
import { type StackOutputs, stackOutputs } from '../../../engine/outputs/outputs.ts';
import { type OutputFile, outputFiles } from '../../../engine/outputs/render.ts';
import { argumentsOfAll } from '../../../engine/record/roll-report.ts';
import type { Change, Plan } from '../../../kinds/change.ts';
import type { StackState } from '../../../kinds/recorded.ts';
import type { CommandDeps } from '../../command.ts';
import { isYes } from '../../consent.ts';
import { type Failure, problemOfRun } from '../../evidence/incident-file.ts';
import type { EvidenceOptions } from '../../evidence/proof.ts';
import { resumingWords } from '../../evidence/typed-command.ts';
import { withLocalNeeds } from '../../stack/local-needs.ts';
import type { OpenedStack } from '../../stack/open.ts';
import { readPlan } from '../../stack/plan-file.ts';
import { checkPlanning, requirePlan } from '../../stack/planning.ts';
import { conclusionOf, type StackRun } from '../../stack/run.ts';
import { applyView, type Conclusion } from '../../views/change/apply.ts';
import { showProblems } from '../../views/view.ts';
import { unwritable } from '../../write-file.ts';
import { type PlanningOptions, planOptions } from './plan.ts';

export interface ApplyOptions extends PlanningOptions, EvidenceOptions {
  readonly yes?: boolean;
  readonly verify?: boolean;
  /** The command that was typed, if it was not `apply`. */
  readonly typed?: string;
}

export interface ApplyWork {
  readonly options: ApplyOptions;
  readonly opened: OpenedStack;
  readonly run: StackRun;
  /** Drafts a report about a failure. */
  readonly draft: (failure: Failure) => Promise<void>;
}

export async function readGivenPlan(
  planFile: string | undefined,
  { stack }: OpenedStack,
  deps: CommandDeps,
): Promise<Plan | undefined> {
  return planFile === undefined ? undefined : readPlan(planFile, stack.name, deps);
}

/** The plan from a file, if it may still be executed; otherwise a new one. */
export async function makePlan(
  { options, opened, run }: ApplyWork,
  givenPlan: Plan | undefined,
  deps: CommandDeps,
): Promise<Plan> {
  checkPlanning(planOptions(options), opened.stack, run.session.state);
  if (givenPlan) {
    return requirePlan(await withLocalNeeds(await run.session.confirm(givenPlan), opened, deps), deps);
  }
  const { session } = run;
  const plan = requirePlan(await withLocalNeeds(await session.plan(planOptions(options)), opened, deps), deps);
  if (options.yes || !deps.canAsk) return plan;
  const wider = await askForMore(plan, options, deps);
  return wider ? requirePlan(await session.plan(wider), deps) : plan;
}

/**
 * At a terminal, asks for what the file alone does not allow. Without one, --allow-delete or --allow-restart is
 * required.
 */
async function askForMore(plan: Plan, options: ApplyOptions, deps: CommandDeps) {
  const listed = (changes: readonly Change[]) => changes.map(({ address, name }) => `${address} (${name})`).join(', ');
  const kept = plan.changes.filter(({ kind }) => kind === 'keep');
  const waiting = plan.changes.filter(({ restartPending }) => restartPending.length > 0);
  const allowDelete =
    kept.length > 0 && isYes(await deps.ask(`No longer in the file: ${listed(kept)}. Delete them? [y/N] `));
  const allowRestart =
    waiting.length > 0 && isYes(await deps.ask(`Needs a restart: ${listed(waiting)}. Restart them now? [y/N] `));
  const hooks = await askAboutHooks(plan, deps);
  if (!allowDelete && !allowRestart && !hooks) return undefined;
  const asked = planOptions(options);
  return {
    ...asked,
    hooks: {
      ...asked.hooks,
      again: [...(asked.hooks.again ?? []), ...(hooks?.again ?? [])],
      done: [...(asked.hooks.done ?? []), ...(hooks?.done ?? [])],
    },
    allowDelete: asked.allowDelete || allowDelete,
    allowRestart: asked.allowRestart || allowRestart,
  };
}

/** Hooks that an earlier run started and did not finish. Without an answer apply refuses and says what to type. */
async function askAboutHooks(plan: Plan, deps: CommandDeps) {
  const again: string[] = [];
  const done: string[] = [];
  for (const { address, hooks = [] } of plan.changes) {
    for (const { moment, run } of hooks.filter(({ endUnknown }) => endUnknown)) {
      const words = run.map(shellWord).join(' ');
      const answer = await deps.ask(
        `An earlier run started the hook ${moment} of ${address} (${words}) and ended before the hook did. Run it again, or count it as done? [again/done/N] `,
      );
      if (/^\s*(a|again)\s*$/i.test(answer ?? '')) again.push(address);
      else if (/^\s*(d|done)\s*$/i.test(answer ?? '')) done.push(address);
    }
  }
  return again.length + done.length > 0 ? { again, done } : undefined;
}

export function showPlan(plan: Plan, deps: CommandDeps): void {
  showProblems(plan.warnings, deps);
  applyView(deps).plan(plan);
}

/**
 * `--yes` answers every question: nothing is destroyed unless `--replace`, `--allow-delete` or `remove: true` names it.
 * At a terminal, a plan that destroys volumes asks for the name of the VM, or of the stack if several VMs lose volumes.
 */
export async function askToProceed({ yes }: ApplyOptions, plan: Plan, deps: CommandDeps): Promise<void> {
  if (yes) return;
  const losing = plan.changes.filter(({ destroys = [] }) => destroys.length > 0);
  const [first] = losing;
  if (!first) {
    if (!isYes(await deps.ask('\nApply these changes? [y/N] '))) throw canceled('Nothing was changed.');
    return;
  }
  const volumes = counted(losing.flatMap(({ destroys = [] }) => destroys).length, 'volume');
  const [what, name] = losing.length === 1 ? [`VM, ${first.name}`, first.name] : [`stack, ${plan.stack}`, plan.stack];
  const answer = await deps.ask(
    `\nThis destroys ${volumes} and the data on them. Type the name of the ${what}, to confirm: `,
  );
  if (answer?.trim() !== name) throw canceled('Nothing was changed.');
}

/** Drafts an incident about a failure; a run that the user stopped is not one. */
export async function executePlan({ options, opened, run, draft }: ApplyWork, plan: Plan): Promise<Conclusion> {
  const before = run.session.state;
  const execution = await run.execute(plan).catch(async (error: unknown) => {
    if (!isCanceled(error)) await draft({ plan, problems: problemOfRun(error) });
    throw error;
  });
  const conclusion = conclusionOf('apply', execution, opened, run.session.state, plan);
  const more = argumentsOfAll(conclusion.rolls);
  const replacing = standing(plan, options, before, run.session.state).flatMap((address) =>
    more.includes(address) ? [] : ['--replace', address],
  );
  const { typed, only = [], ...others } = options;
  // Another command names its resources itself.
  const selected = typed === undefined ? { ...others, only } : others;
  const resume = [...(typed ?? 'apply').split(' '), ...resumingWords(selected, [...replacing, ...more])];
  applyView(run.deps).concluded({ ...conclusion, resume });
  const { code, problems, outcomes } = conclusion;
  if (code === 1) await draft({ plan, problems, outcomes });
  return conclusion;
}

/** VMs to replace that still stand. The replacement of any other continues without the option, which would replace the new VM. */
function standing(plan: Plan, { replace = [] }: ApplyOptions, before: StackState, after: StackState): Address[] {
  const isAsked = (address: Address) => replace.some((name) => address === name || address.startsWith(`${name}[`));
  const stands = (address: Address) =>
    before.vms[address] !== undefined && before.vms[address]?.uuid === after.vms[address]?.uuid;
  return plan.changes
    .filter(({ address, kind }) => kind === 'replace' && isAsked(address) && stands(address))
    .map(({ address }) => address);
}

export async function writeOutputs({ opened, run: { session, deps } }: ApplyWork): Promise<void> {
  const files = await writeOutputFiles(opened, stackOutputs(opened.stack, session.state));
  if (files.length === 0) return;
  deps.terminal.log('info', `Wrote ${counted(files.length, 'output file')} to ${opened.stack.outputs.files}.`);
}

const DATA_MODE = 0o644;
const SCRIPT_MODE = 0o755;

/**
 * The files contain no secrets and are meant for other programs, so they get the usual mode, which the umask can restrict.
 * Each is replaced atomically. Returns their names, for messages; none if the stack asks for none.
 */
export async function writeOutputFiles(
  { stack, directory }: Pick<OpenedStack, 'stack' | 'directory'>,
  outputs: StackOutputs,
): Promise<string[]> {
  const folder = stack.outputs.files;
  if (folder === undefined) return [];
  const target = resolve(directory, folder);
  await mkdir(target, { recursive: true }).catch((error: unknown) => {
    throw unwritable(folder, error, 'Choose another directory as outputs.files.');
  });
  const files = outputFiles(outputs);
  for (const file of files) {
    await replaceFile(target, file).catch((error: unknown) => {
      throw unwritable(join(folder, file.name), error);
    });
  }
  return files.map(({ name }) => join(folder, name));
}

async function replaceFile(folder: string, { name, text, isScript }: OutputFile): Promise<void> {
  // The process id keeps two processes apart. A file left by a dead process is replaced when its id is reused.
  const temporary = join(folder, `.${name}.${process.pid}`);
  try {
    await rm(temporary, { force: true });
    const file = await open(temporary, 'wx', isScript ? SCRIPT_MODE : DATA_MODE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(folder, name));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
}
