/**
 * How a command shows its result: one interface per command with two implementations, text for people and JSON for
 * programs. `chooseView` is the only place that looks at `--json`. Results go to standard output. Messages go to standard
 * error through the terminal, which writes them as text or as JSON lines by itself.
 */
import { type Diagnostic, foldDiagnostics } from '../../base/diagnostics.ts';
import type { CommandDeps } from '../command.ts';
import type { Terminal } from '../terminal.ts';
import { type Paint, paintFor } from './text/paint.ts';

export type ViewDeps = Pick<CommandDeps, 'json' | 'terminal' | 'stdout'>;

export interface HumanScreen {
  readonly terminal: Terminal;
  /** Colours for standard output. */
  readonly paint: Paint;
  print(lines: Iterable<string>): void;
}

export interface JsonScreen {
  readonly terminal: Terminal;
  /** Prints one value on one line. */
  print(value: unknown): void;
}

export interface Views<View> {
  readonly human: (screen: HumanScreen) => View;
  readonly json: (screen: JsonScreen) => View;
}

export function chooseView<View>({ json, terminal, stdout }: ViewDeps, views: Views<View>): View {
  if (json) return views.json({ terminal, print: (value) => terminal.data(versioned(value)) });
  const print = (lines: Iterable<string>) => {
    for (const line of lines) terminal.result(line);
  };
  return views.human({ terminal, paint: paintFor(stdout), print });
}

/** Of the documents of `--json`: docs/reference/json.md. It grows when a field goes or changes its meaning. */
export const JSON_SCHEMA_VERSION = 1;

/** Every document names its version, also in a list of them. */
function versioned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(versioned);
  return typeof value === 'object' && value !== null ? { schema: JSON_SCHEMA_VERSION, ...value } : value;
}

/** Problems and warnings: folded for people, one by one for programs. */
export function showProblems(problems: readonly Diagnostic[], deps: ViewDeps): void {
  const shown = chooseView(deps, { human: () => foldDiagnostics(problems), json: () => problems });
  for (const problem of shown) deps.terminal.diagnostic(problem);
}
