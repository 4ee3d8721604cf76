/** The stages of `apply --verify` and `verify`: each passed, failed or not reached, with its duration and its problems. */
import type { Clock } from '../../base/clock.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { toDiagnostic } from '../../base/errors.ts';
import type { StageName, StageRecord } from '../../engine/evidence/record.ts';
import { AlreadyShown, type CommandDeps } from '../command.ts';

/** What a stage found. It has passed unless `isFailed` says otherwise. */
export interface StageEnd<Value> {
  readonly value: Value;
  /** One sentence. */
  readonly words: string;
  readonly isFailed?: boolean;
  readonly problems?: readonly Diagnostic[];
}

export class Gate {
  readonly #clock: Clock;
  readonly #names: readonly StageName[];
  readonly #records = new Map<StageName, StageRecord>();

  constructor(clock: Clock, names: readonly StageName[]) {
    this.#clock = clock;
    this.#names = names;
  }

  /** The stage gets deps that collect the diagnostics it prints: a stage often prints its problems before it ends. */
  async pass<Value>(
    stage: StageName,
    deps: CommandDeps,
    work: (deps: CommandDeps) => Promise<StageEnd<Value>>,
  ): Promise<Value> {
    const startedAt = this.#clock.ticks();
    const shown: Diagnostic[] = [];
    const note = (result: StageRecord['result'], words: string, problems: readonly Diagnostic[]) =>
      this.#records.set(stage, { stage, result, tookMs: this.#clock.ticks() - startedAt, words, problems });
    try {
      const { value, words, isFailed = false, problems = [] } = await work(collecting(deps, shown));
      note(isFailed ? 'failed' : 'passed', words, problems);
      return value;
    } catch (error) {
      const problems = problemsOf(error, shown);
      note('failed', problems[0]?.summary ?? 'The stage ended early', problems);
      throw error;
    }
  }

  /** An error between two stages counts as a failure of the next one. */
  endBy(error: unknown): void {
    const stage = this.#names.find((name) => !this.#records.has(name));
    if (stage === undefined || this.hasFailed) return;
    const problems = problemsOf(error, []);
    const words = problems[0]?.summary ?? 'The stage ended early';
    this.#records.set(stage, { stage, result: 'failed', tookMs: 0, words, problems });
  }

  get hasFailed(): boolean {
    return [...this.#records.values()].some(({ result }) => result === 'failed');
  }

  /** All stages, including those that were not reached. */
  get records(): StageRecord[] {
    return this.#names.map(
      (stage) => this.#records.get(stage) ?? { stage, result: 'not reached', tookMs: null, words: '', problems: [] },
    );
  }
}

function problemsOf(error: unknown, shown: readonly Diagnostic[]): readonly Diagnostic[] {
  return error instanceof AlreadyShown ? shown.filter(({ severity }) => severity === 'error') : [toDiagnostic(error)];
}

function collecting(deps: CommandDeps, shown: Diagnostic[]): CommandDeps {
  const { terminal } = deps;
  const diagnostic = (each: Diagnostic) => {
    shown.push(each);
    terminal.diagnostic(each);
  };
  return { ...deps, terminal: { ...terminal, diagnostic } };
}
