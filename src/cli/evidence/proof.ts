/** Collects what a command learns on its way through the gate, and writes it as evidence at the end. */
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { isCanceled, toDiagnostic } from '../../base/errors.ts';
import { safeJson, visibleText } from '../../base/text/safe-text.ts';
import { APPLY_STAGES, evidenceRecord, VERIFY_STAGES } from '../../engine/evidence/record.ts';
import { evidenceRow } from '../../engine/evidence/row.ts';
import { describeRun } from '../../engine/record/run-record.ts';
import type { Plan } from '../../kinds/change.ts';
import type { Evidence } from '../../kinds/shown.ts';
import type { Pve } from '../../pve/index.ts';
import type { ResourceOutcome } from '../../state/events.ts';
import { readRun } from '../../state/journal.ts';
import type { StateStore } from '../../state/store.ts';
import { type CommandDeps, EXIT_CANCELED, type ExitCode } from '../command.ts';
import { packageVersion } from '../package.ts';
import { variableFilesOf } from '../stack/read.ts';
import { writePrivateFile } from '../write-file.ts';
import { addEvidence, type EvidenceFiles, evidenceFiles } from './evidence-files.ts';
import { Gate } from './gate.ts';
import { type TypedOptions, typedCommand } from './typed-command.ts';

/** Options of commands that leave evidence. */
export interface EvidenceOptions {
  /** False to write none. */
  readonly evidence?: string | false;
  readonly task?: string;
  readonly note?: string;
}

const DEFAULT_FILE = 'evidence.md';
/** Next to the table. */
const TIMELINES = 'timelines';
const PRIVATE_DIRECTORY = 0o700;

/** What is known so far. */
interface Known {
  file?: string;
  stack?: string;
  runId?: string;
  server?: Pick<Pve, 'endpoint' | 'principal'>;
  proxmox?: string;
  plan?: Plan;
  outcomes?: ReadonlyMap<string, ResourceOutcome>;
  lastPlan?: Plan;
  compared?: ReadonlyMap<string, Evidence>;
  incident?: string;
  /** Of a run that did something. */
  store?: StateStore;
}

export class Proof {
  readonly gate: Gate;
  readonly known: Known = {};
  readonly typed: string;
  readonly #command: 'apply' | 'verify';
  readonly #options: TypedOptions & EvidenceOptions;
  readonly #deps: CommandDeps;
  readonly #startedAt: number;
  readonly #startTicks: number;

  constructor(
    command: 'apply' | 'verify',
    options: TypedOptions & EvidenceOptions,
    deps: CommandDeps,
    planFile?: string,
  ) {
    this.#command = command;
    this.#options = options;
    this.#deps = deps;
    this.#startedAt = deps.clock.now();
    this.#startTicks = deps.clock.ticks();
    this.gate = new Gate(deps.clock, command === 'apply' ? APPLY_STAGES : VERIFY_STAGES);
    this.typed = typedCommand(command, options, planFile);
  }

  /** A run that the user stopped before it changed anything proves nothing, and leaves no evidence. */
  async recorded(work: () => Promise<ExitCode>): Promise<ExitCode> {
    let code: ExitCode;
    try {
      code = await work();
    } catch (error) {
      if (isCanceled(error) && !this.known.outcomes) throw error;
      this.gate.endBy(error);
      // The first failure is the one to report.
      await this.#write(false).catch((second: unknown) => this.#warn(second));
      throw error;
    }
    if (code !== EXIT_CANCELED || this.known.outcomes) await this.#write(code === 0);
    return code;
  }

  async #write(isComplete: boolean): Promise<void> {
    const { evidence: chosen } = this.#options;
    const { file } = this.known;
    // Without a stack file there is nothing to record, and no place for it.
    if (chosen === false || file === undefined) return;
    const { shown, paths } = this.#files(chosen, file);
    const timeline = await this.#drawTimeline(paths.table);
    const record = await this.#record(isComplete, file, timeline);
    try {
      await addEvidence(
        paths,
        shown,
        { row: visibleText(evidenceRow(record)), line: safeJson(record) },
        this.#deps.clock,
      );
      this.#deps.terminal.log('info', `Appended evidence to ${shown.table} and ${shown.log}.`);
    } catch (error) {
      // A read-only directory is no failure, unless the user named the file.
      if (chosen !== undefined) throw error;
      this.#warn(error);
    }
  }

  /** The picture is optional: if it cannot be written, the evidence goes without it. */
  async #drawTimeline(table: string): Promise<string | undefined> {
    const { store, runId, outcomes } = this.known;
    if (!store || runId === undefined || !outcomes) return undefined;
    try {
      const [{ chartOf }, { drawTimeline }] = await Promise.all([
        import('../../ui/picture/chart.ts'),
        import('../../ui/picture/timeline.ts'),
      ]);
      const name = join(TIMELINES, `${runId}.svg`);
      const path = join(dirname(table), name);
      const picture = drawTimeline(chartOf(describeRun(await readRun(store, runId))));
      await mkdir(dirname(path), { recursive: true, mode: PRIVATE_DIRECTORY });
      await writePrivateFile(path, this.#deps.secrets.redact(picture), name);
      return name;
    } catch (error) {
      this.#deps.terminal.log('warn', `The timeline could not be drawn. ${toDiagnostic(error).detail}`);
      return undefined;
    }
  }

  async #record(
    isComplete: boolean,
    file: string,
    timeline: string | undefined,
  ): Promise<ReturnType<typeof evidenceRecord>> {
    const { known } = this;
    const { clock, directory } = this.#deps;
    const record = evidenceRecord({
      time: new Date(this.#startedAt).toISOString(),
      tookMs: clock.ticks() - this.#startTicks,
      command: this.#command,
      typed: this.typed,
      task: this.#options.task,
      note: this.#options.note,
      stack: known.stack,
      file,
      runId: known.runId,
      isComplete,
      versions: { proxwright: packageVersion(), node: process.versions.node, proxmox: known.proxmox },
      server: known.server,
      commit: await this.#commit(resolve(directory, file)),
      stages: this.gate.records,
      plan: known.plan,
      outcomes: known.outcomes,
      lastPlan: known.lastPlan,
      compared: known.compared,
      incident: known.incident,
      timeline,
    });
    return this.#deps.secrets.redactIn(record);
  }

  async #commit(stackFile: string): Promise<Commit | undefined> {
    const read = await variableFilesOf(this.#options, stackFile, this.#deps.directory);
    const directory = dirname(stackFile);
    // Files outside the directory may belong to another repository.
    const inside = read
      .map((name) => resolve(this.#deps.directory, name))
      .filter((path) => !relative(directory, path).startsWith('..'));
    return commitOf(directory, [stackFile, ...inside]);
  }

  #files(chosen: string | undefined, file: string): { readonly shown: EvidenceFiles; readonly paths: EvidenceFiles } {
    const shown = evidenceFiles(chosen ?? join(dirname(file), DEFAULT_FILE));
    const at = (path: string) => resolve(this.#deps.directory, path);
    return { shown, paths: { table: at(shown.table), log: at(shown.log) } };
  }

  #warn(error: unknown): void {
    const { detail, where } = toDiagnostic(error);
    this.#deps.terminal.log('warn', `Evidence could not be written to ${where?.file ?? 'a file'}. ${detail}`);
  }
}

const GIT_TIMEOUT_MS = 5_000;

interface Commit {
  readonly id: string;
  /** Whether the files that were read are unchanged since that commit. */
  readonly isClean: boolean;
}

/** The commit of a directory in git. Only reads: it refreshes no index, and starts no hook or monitor of the repository. */
async function commitOf(directory: string, files: readonly string[]): Promise<Commit | undefined> {
  const git = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('git', ['-c', 'core.fsmonitor=false', ...args], {
      cwd: directory,
      timeout: GIT_TIMEOUT_MS,
      env: { ...process.env, GIT_OPTIONAL_LOCKS: '0' },
    });
    return stdout.trim();
  };
  try {
    const id = await git('rev-parse', '--verify', 'HEAD');
    const changed = await git('status', '--porcelain', '--', ...files);
    return { id, isClean: changed === '' };
  } catch {
    // No repository, no commit or no git: evidence does not require one.
    return undefined;
  }
}
