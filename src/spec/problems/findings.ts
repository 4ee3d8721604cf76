/** Collects problems: each once, in the order of the file, and without sensitive values. */
import type { Diagnostic, Severity, Where } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import { type Hint, redactHint } from '../../base/hint.ts';
import { redact, Secret } from '../../base/secret.ts';

export interface Problem {
  readonly code: 'UNKNOWN_FIELD' | 'BAD_VALUE' | 'MISSING_REFERENCE';
  readonly severity?: Severity;
  readonly detail: string;
  readonly hint?: Hint | string | undefined;
  readonly where: Where;
}

export class Findings {
  readonly #found = new Map<string, Diagnostic>();
  readonly #secrets: Secret[] = [];
  #errorCount = 0;

  constructor(earlier: readonly Diagnostic[] = []) {
    for (const diagnostic of earlier) this.#keep(diagnostic);
  }

  add(problem: Problem): void {
    const { severity = 'error', code, detail, hint, where } = problem;
    const { diagnostic } = new ProxwrightError({ code, detail, where, hint });
    this.#keep({ ...diagnostic, severity });
  }

  /** The members of a group share their lines, and so their mistakes. */
  #keep(diagnostic: Diagnostic): void {
    const { code, detail, where, severity } = diagnostic;
    const key = JSON.stringify([code, detail, where?.file, where?.line, where?.column, where?.field]);
    if (this.#found.has(key)) return;
    this.#found.set(key, diagnostic);
    if (severity === 'error') this.#errorCount++;
  }

  /** Redacts this value from every message, including those already collected. */
  conceal(value: string): void {
    this.#secrets.push(new Secret(value));
  }

  get secrets(): readonly Secret[] {
    return this.#secrets;
  }

  get hasErrors(): boolean {
    return this.#errorCount > 0;
  }

  list(): Diagnostic[] {
    return [...this.#found.values()].sort(byPosition).map((diagnostic) => this.#concealed(diagnostic));
  }

  #concealed(diagnostic: Diagnostic): Diagnostic {
    if (this.#secrets.length === 0) return diagnostic;
    return {
      ...diagnostic,
      detail: redact(diagnostic.detail, this.#secrets),
      ...(diagnostic.hint !== undefined && { hint: redactHint(diagnostic.hint, this.#secrets) }),
    };
  }
}

function byPosition(a: Diagnostic, b: Diagnostic): number {
  return (
    (a.where?.file ?? '').localeCompare(b.where?.file ?? '') ||
    (a.where?.line ?? 0) - (b.where?.line ?? 0) ||
    (a.where?.column ?? 0) - (b.where?.column ?? 0)
  );
}
