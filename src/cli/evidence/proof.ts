/** A command that leaves evidence: gathers what becomes known on its way through the gate, and writes it down at the end. */
import { dirname, join, relative, resolve } from 'node:path';
import { Canceled, toDiagnostic } from '../../base/errors.ts';
import { APPLY_STAGES, evidenceRecord, VERIFY_STAGES } from '../../engine/evidence/record.ts';
import { redacted } from '../../engine/evidence/redacted.ts';
import { evidenceRow } from '../../engine/evidence/row.ts';
import type { VmEvidence } from '../../engine/evidence.ts';
import type { Plan } from '../../engine/plan-types.ts';
import type { Pve } from '../../pve/index.ts';
import type { ResourceOutcome } from '../../state/events.ts';
import { type CommandHost, EXIT_CANCELED, type ExitCode } from '../command-host.ts';
import { packageVersion } from '../package-version.ts';
import type { SecretsByVm } from '../secrets.ts';
import { type Commit, commitOf } from './commit.ts';
import { addEvidence, type EvidenceFiles, evidenceFiles } from './evidence-files.ts';
import { Gate } from './gate.ts';
import { knownSecrets } from './known-secrets.ts';
import { type TypedOptions, typedCommand } from './typed-command.ts';

/** Options of commands that leave evidence. */
export interface EvidenceOptions {
  /** False where none is wanted. */
  readonly evidence?: string | false;
  readonly task?: string;
  readonly note?: string;
}

const DEFAULT_FILE = 'evidence.md';

/** What is known so far; each part is entered when it is. */
interface Known {
  file?: string;
  stack?: string;
  runId?: string;
  server?: Pick<Pve, 'endpoint' | 'principal'>;
  proxmox?: string;
  secrets?: SecretsByVm;
  plan?: Plan;
  outcomes?: ReadonlyMap<string, ResourceOutcome>;
  lastPlan?: Plan;
  compared?: ReadonlyMap<string, VmEvidence>;
  incident?: string;
}

export class Proof {
  readonly gate: Gate;
  readonly known: Known = {};
  readonly typed: string;
  readonly #command: 'apply' | 'verify';
  readonly #options: TypedOptions & EvidenceOptions;
  readonly #host: CommandHost;
  readonly #startedAt: number;

  constructor(
    command: 'apply' | 'verify',
    options: TypedOptions & EvidenceOptions,
    host: CommandHost,
    planFile?: string,
  ) {
    this.#command = command;
    this.#options = options;
    this.#host = host;
    this.#startedAt = host.clock.now();
    this.gate = new Gate(host.clock, command === 'apply' ? APPLY_STAGES : VERIFY_STAGES);
    this.typed = typedCommand(command, options, planFile);
  }

  /** A run that somebody stopped before anything was changed proves nothing, and is not mentioned. */
  async recorded(work: () => Promise<ExitCode>): Promise<ExitCode> {
    let code: ExitCode;
    try {
      code = await work();
    } catch (error) {
      if (error instanceof Canceled && !this.known.outcomes) throw error;
      this.gate.endBy(error);
      // The failure itself is what has to be told.
      await this.#write(false).catch((second: unknown) => this.#warn(second));
      throw error;
    }
    if (code !== EXIT_CANCELED || this.known.outcomes) await this.#write(code === 0);
    return code;
  }

  async #write(isComplete: boolean): Promise<void> {
    const { evidence: wanted } = this.#options;
    const { file } = this.known;
    // Without a stack file there is nothing to say, and no place for it.
    if (wanted === false || file === undefined) return;
    const { shown, paths } = this.#files(wanted, file);
    const record = await this.#record(isComplete, file);
    try {
      await addEvidence(paths, shown, { row: evidenceRow(record), line: JSON.stringify(record) }, this.#host.clock);
      this.#host.terminal.log('info', `Evidence: one line more in ${shown.table} and ${shown.log}.`);
    } catch (error) {
      // Looking is allowed where nothing can be written, unless just that file was asked for.
      if (wanted !== undefined) throw error;
      this.#warn(error);
    }
  }

  async #record(isComplete: boolean, file: string): Promise<ReturnType<typeof evidenceRecord>> {
    const { known } = this;
    const { clock, directory } = this.#host;
    const secrets = await this.secrets();
    const record = evidenceRecord({
      time: new Date(this.#startedAt).toISOString(),
      tookMs: clock.now() - this.#startedAt,
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
    });
    return redacted(record, secrets);
  }

  /** Nothing that is kept may hold one of them. */
  secrets(): ReturnType<typeof knownSecrets> {
    const { file = '', secrets = new Map() } = this.known;
    return knownSecrets({ options: this.#options, file, secrets }, this.#host);
  }

  #commit(stackFile: string): Promise<Commit | undefined> {
    const read = (this.#options.varFile ?? []).map((name) => resolve(this.#host.directory, name));
    const directory = dirname(stackFile);
    // Files elsewhere are in another repository, or in none.
    const inside = read.filter((path) => !relative(directory, path).startsWith('..'));
    return commitOf(directory, [stackFile, ...inside]);
  }

  #files(wanted: string | undefined, file: string): { readonly shown: EvidenceFiles; readonly paths: EvidenceFiles } {
    const shown = evidenceFiles(wanted ?? join(dirname(file), DEFAULT_FILE));
    const at = (path: string) => resolve(this.#host.directory, path);
    return { shown, paths: { table: at(shown.table), log: at(shown.log) } };
  }

  #warn(error: unknown): void {
    const { detail, where } = toDiagnostic(error);
    this.#host.terminal.log('warn', `No evidence was kept in ${where?.file ?? 'a file'}. ${detail}`);
  }
}
