/** What the page shows, from the same functions that the commands use. It takes no lock and changes nothing. */
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Ticks } from '../../base/clock.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { toDiagnostic } from '../../base/errors.ts';
import { stackOutputs } from '../../engine/outputs/outputs.ts';
import { momentsOf } from '../../engine/record/run-moments.ts';
import type { Finding } from '../../kinds/doctor/finding.ts';
import { readTextFile } from '../../local/text-file.ts';
import type { Pve } from '../../pve/index.ts';
import { listRuns, nameOfJournal, parseRun, readRun } from '../../state/journal.ts';
import { readRecorded } from '../../state/recorded.ts';
import type { StateStore } from '../../state/store.ts';
import { chartOf } from '../../ui/picture/chart.ts';
import { renderReport } from '../../ui/report/html.ts';
import type {
  Answer,
  PageSource,
  PlanView,
  RunView,
  StackEntry,
  ViewName,
  ViewValues,
} from '../../ui/server/source.ts';
import { AlreadyShown, type CommandDeps, type StackOptions } from '../command.ts';
import { findingsFor } from '../commands/check/doctor.ts';
import { driftsOf } from '../commands/check/drift.ts';
import { connect } from '../stack/connect.ts';
import { type OpenedStack, openReadStack } from '../stack/open.ts';
import { planWithoutLock } from '../stack/planning.ts';
import { readStack } from '../stack/read.ts';
import { predictionOf, recordOf } from '../stack/recorded-run.ts';
import { notesOf, printDestroyed, renderRemarks, stepsByAddress, wordsOf } from '../views/plan/plan.ts';
import { plainPaint } from '../views/text/paint.ts';
import { readCluster } from './cluster.ts';

/** A key of YAML at the margin, or one of JSON, which is often indented or all on one line. */
const STACK_LINE = /^["']?stack["']?:\s*\S|(?:^|[{,])\s*"stack"\s*:\s*"/m;
const MOST_FILES = 100;
const NEWEST_RUNS = 50;
/** However many pages watch a stack, its store is asked at most once in this time. */
const LOOK_MS = 400;
/** For a store that has to send the journal to say whether it has grown. */
const SHARED_LOOK_MS = 2_000;

/** What the last look at the newest run of a stack found. */
interface LastLook {
  readonly mark: string;
  readonly runId?: string;
  /** Its journal, if it had to be read. */
  readonly text?: string;
}

/** Several stacks may live in one directory, or one in each folder of it. */
export async function createPageSource(options: StackOptions, deps: CommandDeps): Promise<PageSource> {
  const files = options.file === undefined ? await stackFiles(deps.directory) : [options.file];
  const known = new Map<string, { readonly entry: StackEntry; readonly options: StackOptions }>();
  for (const file of files) {
    const own = { ...options, file };
    const { stack } = await readStack(own, quiet(deps, []));
    const name = stack?.name ?? file;
    const id = known.has(name) ? file : name;
    known.set(id, { entry: { id, name, file }, options: own });
  }
  // The file is read each time, because it is being edited. Its store is opened once: a shared one holds a connection.
  const opened = new Map<string, OpenedStack>();
  const open: PageDeps['open'] = async (id, problems, isForRuns = false) => {
    const { options: own } = known.get(id) ?? {};
    if (!own) return undefined;
    const silent = quiet(deps, problems);
    const before = opened.get(id);
    if (before && isForRuns) return { deps: silent, stack: before };
    const read = await readStack(own, silent);
    const stack = before && read.stack ? { ...before, stack: read.stack } : await openReadStack(read, silent);
    opened.set(id, stack);
    return { deps: silent, stack };
  };
  const entries = [...known.values()].map(({ entry }) => entry);
  const diagnose = async (stack: OpenedStack, own: CommandDeps) => (await findingsFor(stack, own)).findings;
  return pageSource({ entries, open, connect, diagnose, deps });
}

/** Where the page gets its stacks and its client from. */
export interface PageDeps {
  readonly entries: readonly StackEntry[];
  /**
   * Undefined if there is no such stack. What is wrong with its file is added to the problems. For its runs, an earlier
   * reading of the file is enough: they stay visible while the file is being edited and is invalid.
   */
  open(
    id: string,
    problems: Diagnostic[],
    isForRuns?: boolean,
  ): Promise<{ readonly stack: OpenedStack; readonly deps: CommandDeps } | undefined>;
  connect(stack: OpenedStack, deps: CommandDeps): Promise<Pve>;
  diagnose(stack: OpenedStack, deps: CommandDeps): Promise<readonly Finding[]>;
  /** Their clock stamped the runs. */
  readonly deps: CommandDeps;
}

export function pageSource(page: PageDeps): PageSource {
  const { open, deps, entries } = page;
  const looks = new Map<string, { readonly at: Ticks; readonly seen: Promise<LastLook> }>();
  const look = (id: string, { store }: OpenedStack): Promise<LastLook> => {
    const now = deps.clock.ticks();
    const last = looks.get(id);
    if (last && now - last.at < (store.sizeOf ? LOOK_MS : SHARED_LOOK_MS)) return last.seen;
    const seen = seenIn(store);
    looks.set(id, { at: now, seen });
    return seen;
  };
  const run = async (id: string, runId: string) => {
    const { stack } = (await open(id, [], true)) ?? {};
    if (!stack) return undefined;
    // A store without sizes has just sent the journal.
    const seen = runId === 'last' && !stack.store.sizeOf ? await look(id, stack) : undefined;
    if (seen?.runId !== undefined && seen.text !== undefined) {
      const place = stack.store.placeOf(nameOfJournal(seen.runId));
      return { stack, record: await recordOf(stack.store, parseRun(seen.runId, seen.text, place)) };
    }
    const ids = await listRuns(stack.store);
    const chosen = runId === 'last' ? ids.at(-1) : ids.find((each) => each === runId);
    if (chosen === undefined) return undefined;
    return { stack, record: await recordOf(stack.store, await readRun(stack.store, chosen)) };
  };
  return {
    stacks: async () => entries,
    view: async (id, name) => {
      if (!entries.some((entry) => entry.id === id)) return undefined;
      const problems: Diagnostic[] = [];
      let note: string | undefined;
      return answered(problems, async () => {
        const found = await open(id, problems);
        const value = found && (await VIEWS_OF[name](found.stack, found.deps, page));
        if (found && NOTED.includes(name)) note = await noteOf(found.stack.store);
        return deps.secrets.redactIn(value) as ViewValues[typeof name]; // the same shape
      }).then((answer) => (answer.ok && note !== undefined ? { ...answer, note } : answer));
    },
    run: async (id, runId) => {
      const found = await run(id, runId);
      if (!found) return undefined;
      const log = momentsOf(found.record).map(({ at, address, what }) => ({
        at,
        address,
        what: what.replaceAll('**', ''),
      }));
      const prediction = await predictionOf(found.record, found.stack.stateDirectory);
      return deps.secrets.redactIn<RunView>({
        chart: chartOf(found.record, deps.clock.now()),
        ...(prediction && { prediction: chartOf(prediction) }),
        log,
      });
    },
    report: async (id, runId) => {
      const found = await run(id, runId);
      if (!found) return undefined;
      const { stack, stateDirectory } = found.stack;
      const prediction = await predictionOf(found.record, stateDirectory);
      const now = deps.clock.now();
      return deps.secrets.redact(renderReport({ stack: stack.name, run: found.record, prediction, now }));
    },
    pulse: async (id) => {
      if (!entries.some((entry) => entry.id === id)) return undefined;
      const problems: Diagnostic[] = [];
      return answered(problems, async () => {
        const found = await open(id, problems, true);
        return found ? (await look(id, found.stack)).mark : 'none';
      });
    },
  };
}

/** Views of what a run changes. */
const NOTED: readonly ViewName[] = ['plan', 'drift', 'outputs'];

async function noteOf(store: StateStore): Promise<string | undefined> {
  const holder = await store.holder();
  if (!holder) return undefined;
  const { command, who, host, since } = holder.owner;
  const run = `${command} by ${who} on ${host}, since ${since.replace('T', ' ').replace(/(?:\.\d+)?Z$/, ' UTC')}`;
  return holder.life === 'dead'
    ? `An earlier run died: ${run}. Run the same command again to resume it. Until then, what it left counts as a difference.`
    : `A run is at work on this stack: ${run}. What it has not done yet counts as a difference. The live view follows it.`;
}

async function seenIn(store: StateStore): Promise<LastLook> {
  const runId = (await listRuns(store)).at(-1);
  if (runId === undefined) return { mark: 'none' };
  const name = nameOfJournal(runId);
  // A process that dies writes nothing more, but its lock shows it.
  const holder = await store.holder();
  const life = holder?.owner.runId === runId ? holder.life : 'none';
  if (store.sizeOf) return { runId, mark: `${runId} ${(await store.sizeOf(name)) ?? 0} ${life}` };
  const text = (await store.read(name)) ?? '';
  return { runId, text, mark: `${runId} ${text.length} ${life}` };
}

async function stackFiles(directory: string): Promise<string[]> {
  const list = (path: string) => readdir(path, { withFileTypes: true }).catch(() => []);
  const here = await list(directory);
  const folders = here.filter((entry) => entry.isDirectory() && !/^\.|^node_modules$/.test(entry.name));
  const places = [directory, ...folders.map(({ name }) => join(directory, name))];
  const found: string[] = [];
  for (const place of places) {
    for (const entry of await list(place)) {
      if (!entry.isFile() || !/\.(ya?ml|json)$/.test(entry.name) || found.length >= MOST_FILES) continue;
      const path = join(place, entry.name);
      const text = await readTextFile(path, 'a stack file').catch(() => '');
      if (STACK_LINE.test(text)) found.push(relative(directory, path));
    }
  }
  return found;
}

/** The problems that a command would print go to the page. */
export function quiet(deps: CommandDeps, problems: Diagnostic[]): CommandDeps {
  const nothing = () => {};
  const diagnostic = (problem: Diagnostic) => {
    if (problem.severity === 'error') problems.push(problem);
  };
  const { language } = deps.terminal;
  return {
    ...deps,
    terminal: { log: nothing, result: nothing, data: nothing, success: nothing, diagnostic, language },
  };
}

async function answered<Value>(problems: Diagnostic[], work: () => Promise<Value>): Promise<Answer<Value>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (!(error instanceof AlreadyShown)) problems.push(toDiagnostic(error));
    return {
      ok: false,
      problems: problems.map(({ code, summary, detail, hint }) => ({ code, summary, detail, ...(hint && { hint }) })),
    };
  }
}

type Show<Name extends ViewName> = (
  opened: OpenedStack,
  deps: CommandDeps,
  page: PageDeps,
) => Promise<ViewValues[Name]>;

const VIEWS_OF: { readonly [Name in ViewName]: Show<Name> } = {
  cluster: async (opened, deps, page) => readCluster(opened, await page.connect(opened, deps)),
  plan: async (opened, deps, page) => {
    const { plan } = await planned(opened, deps, page);
    const stepsOf = stepsByAddress(plan);
    return {
      changes: plan.changes.map((change) => {
        const { address, kind, name, node, vmid, reason, differences, destroys = [] } = change;
        const steps = stepsOf.get(address) ?? [];
        return {
          address,
          kind,
          verb: wordsOf(change, steps),
          name,
          node,
          vmid,
          reason,
          notes: notesOf(change, steps),
          destroys: destroys.map(printDestroyed),
          fields: differences.map(({ path, before, after, by, effect, secret }) => ({
            path,
            before: secret ? '•••' : before,
            after: secret ? '•••' : after,
            by,
            effect,
          })),
        };
      }),
      steps: plan.steps.length,
      warnings: plan.warnings.map(({ detail }) => detail),
      remarks: renderRemarks(plan, plainPaint).filter((line) => line !== ''),
    } satisfies PlanView;
  },
  drift: async (opened, deps, page) =>
    driftsOf(await planned(opened, deps, page)).map(({ address, name, gone, fields }) => ({
      address,
      name,
      isGone: gone,
      fields,
    })),
  outputs: async ({ stack, store }) => {
    const { state } = await readRecorded(store, stack.name);
    return Object.entries(stackOutputs(stack, state).values).map(([name, value]) => ({
      name,
      text: typeof value === 'string' ? value : JSON.stringify(value, undefined, 2),
    }));
  },
  doctor: async (opened, deps, page) =>
    (await page.diagnose(opened, deps)).map(({ check, verdict, words, details = [], remedy }) => ({
      check,
      verdict,
      words,
      details,
      ...(remedy !== undefined && { remedy }),
    })),
  runs: async ({ store }) => {
    const ids = (await listRuns(store)).slice(-NEWEST_RUNS).reverse();
    const runs = await Promise.all(ids.map(async (id) => recordOf(store, await readRun(store, id))));
    return runs.map(({ runId, command, outcome, startedAt, durationMs, who, resources }) => ({
      runId,
      command,
      outcome,
      startedAt,
      durationMs,
      who,
      resources: resources.length,
    }));
  },
};

async function planned(opened: OpenedStack, deps: CommandDeps, page: PageDeps) {
  const pve = await page.connect(opened, deps);
  try {
    return await planWithoutLock(opened, deps, pve, {});
  } finally {
    await pve.close();
  }
}
