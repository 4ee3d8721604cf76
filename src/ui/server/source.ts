/** What the page shows, as data: the server asks for it, the command provides it, the page draws it. */
import type { Diagnostic } from '../../base/diagnostics.ts';
import type { Chart } from '../picture/chart.ts';

export interface StackEntry {
  /** In addresses of the page: the name of the stack, or its file where two have the same name. */
  readonly id: string;
  readonly name: string;
  readonly file: string;
}

/** What is read from the cluster, or computed from what is recorded. */
export const VIEWS = ['cluster', 'plan', 'drift', 'outputs', 'doctor', 'runs'] as const;
export type ViewName = (typeof VIEWS)[number];

/** Either the requested data, or the reason why there is none. */
export type Answer<Value> =
  | {
      readonly ok: true;
      readonly value: Value;
      /** A run is at work, or has died: what is shown may be about to change. */
      readonly note?: string;
    }
  | { readonly ok: false; readonly problems: readonly Pick<Diagnostic, 'code' | 'summary' | 'detail' | 'hint'>[] };

export interface GuestView {
  readonly vmid: number;
  readonly name: string;
  readonly status: string;
  /** What it is configured with. */
  readonly memoryBytes: number;
  /** What it uses of it; absent while it is off. */
  readonly usedMemoryBytes?: number;
  /** Its address in the stack; absent if it belongs to others. */
  readonly address?: string;
  readonly isTemplate: boolean;
}

export interface StorageView {
  readonly storage: string;
  readonly usedBytes: number;
  readonly totalBytes: number;
  /** Every node sees the same room. */
  readonly isShared: boolean;
}

export interface NodeView {
  readonly node: string;
  readonly isOnline: boolean;
  readonly cpus: number | undefined;
  /** Absent where the token may not see it. */
  readonly memory: { readonly usedBytes: number; readonly totalBytes: number } | undefined;
  readonly storages: readonly StorageView[];
  readonly guests: readonly GuestView[];
}

export interface ClusterView {
  readonly endpoint: string;
  readonly version: string;
  readonly nodes: readonly NodeView[];
}

export interface FieldView {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly by?: 'file' | 'others' | 'both';
  readonly effect?: string;
}

export interface ChangeView {
  readonly address: string;
  readonly kind: string;
  /** `create`, `change and restart`. */
  readonly verb: string;
  readonly name: string;
  readonly node: string;
  readonly vmid: number | undefined;
  readonly reason: string;
  readonly fields: readonly FieldView[];
  readonly notes: readonly string[];
  /** Volumes that are lost. */
  readonly destroys: readonly string[];
}

export interface PlanView {
  readonly changes: readonly ChangeView[];
  readonly steps: number;
  readonly warnings: readonly string[];
  /** How groups take turns, and what the nodes have free before and after. */
  readonly remarks: readonly string[];
}

export interface DriftView {
  readonly address: string;
  readonly name: string;
  readonly isGone: boolean;
  readonly fields: readonly { readonly path: string; readonly applied: unknown; readonly actual: unknown }[];
}

export interface OutputView {
  readonly name: string;
  readonly text: string;
}

export interface FindingView {
  readonly check: string;
  readonly verdict: string;
  readonly words: string;
  readonly details: readonly string[];
  readonly remedy?: string;
}

export interface RunEntry {
  readonly runId: string;
  readonly command: string;
  readonly outcome: string;
  readonly startedAt: string | undefined;
  readonly durationMs: number | undefined;
  readonly who: string | undefined;
  readonly resources: number;
}

export interface LogLine {
  readonly at: string;
  readonly address: string;
  readonly what: string;
}

export interface RunView {
  readonly chart: Chart;
  /** What the last rehearsal expected of this run. */
  readonly prediction?: Chart;
  readonly log: readonly LogLine[];
}

export interface ViewValues {
  readonly cluster: ClusterView;
  readonly plan: PlanView;
  readonly drift: readonly DriftView[];
  readonly outputs: readonly OutputView[];
  readonly doctor: readonly FindingView[];
  readonly runs: readonly RunEntry[];
}

export interface PageSource {
  stacks(): Promise<readonly StackEntry[]>;
  /** Undefined if there is no such stack. */
  view<Name extends ViewName>(stack: string, name: Name): Promise<Answer<ViewValues[Name]> | undefined>;
  /** `last` is the newest run. Undefined if there is none. */
  run(stack: string, runId: string): Promise<RunView | undefined>;
  report(stack: string, runId: string): Promise<string | undefined>;
  /** A text that changes whenever the newest run records something; cheap to ask for. */
  pulse(stack: string): Promise<Answer<string> | undefined>;
}
