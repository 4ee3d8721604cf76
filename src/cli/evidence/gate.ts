/** The stages of a run that has to prove something: each passed, failed or not reached, with its time and its problems. */
import type { Clock } from '../../base/clock.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { toDiagnostic } from '../../base/errors.ts';
import type { StageName, StageRecord } from '../../engine/evidence/record.ts';
import { AlreadyShown, type CommandDeps } from '../command.ts';

/** What a stage found out. Without a word about a failure it has passed. */
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

  /** The stage gets a host that remembers the problems it shows: what ends a stage has often been printed already. */
  async pass<Value>(
    stage: StageName,
    deps: CommandDeps,
    work: (deps: CommandDeps) => Promise<StageEnd<Value>>,
  ): Promise<Value> {
    const startedAt = this.#clock.now();
    const shown: Diagnostic[] = [];
    const note = (result: StageRecord['result'], words: string, problems: readonly Diagnostic[]) =>
      this.#records.set(stage, { stage, result, tookMs: this.#clock.now() - startedAt, words, problems });
    try {
      const { value, words, isFailed = false, problems = [] } = await work(witness(deps, shown));
      note(isFailed ? 'failed' : 'passed', words, problems);
      return value;
    } catch (error) {
      const problems = problemsOf(error, shown);
      note('failed', problems[0]?.summary ?? 'It was ended', problems);
      throw error;
    }
  }

  /** What ended the run between two stages counts for the one that was to come. */
  endBy(error: unknown): void {
    const stage = this.#names.find((name) => !this.#records.has(name));
    if (stage === undefined || this.hasFailed) return;
    const problems = problemsOf(error, []);
    const words = problems[0]?.summary ?? 'It was ended';
    this.#records.set(stage, { stage, result: 'failed', tookMs: 0, words, problems });
  }

  get hasFailed(): boolean {
    return [...this.#records.values()].some(({ result }) => result === 'failed');
  }

  /** All stages, those that were not reached included. */
  get records(): StageRecord[] {
    return this.#names.map(
      (stage) => this.#records.get(stage) ?? { stage, result: 'not reached', tookMs: null, words: '', problems: [] },
    );
  }
}

function problemsOf(error: unknown, shown: readonly Diagnostic[]): readonly Diagnostic[] {
  return error instanceof AlreadyShown ? shown.filter(({ severity }) => severity === 'error') : [toDiagnostic(error)];
}

function witness(deps: CommandDeps, shown: Diagnostic[]): CommandDeps {
  const { terminal } = deps;
  const diagnostic = (each: Diagnostic) => {
    shown.push(each);
    terminal.diagnostic(each);
  };
  return { ...deps, terminal: { ...terminal, diagnostic } };
}
