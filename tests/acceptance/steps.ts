/** Steps that follow from each other: after the first failure the rest is skipped, and the account says so. */
import { it, type TestContext } from 'vitest';
import type { Account } from './account.ts';

/** `act` does the step and says in words what it has shown. */
export type StepMaker = (title: string, act: () => Promise<string>) => void;

export interface StepOptions {
  /** Why none of them can be done; undefined where they can. */
  readonly missing?: () => string | undefined;
  /** Put before what the account says. */
  readonly label?: string;
  /** For one step; the suite's own where it is left out. */
  readonly timeoutMs?: number;
}

export function stepsOf(account: Account, { missing, label, timeoutMs }: StepOptions = {}): StepMaker {
  let declared = 0;
  /** The last one that ended well. */
  let reached = 0;
  const prefix = label === undefined ? '' : `${label}: `;
  return (title, act) => {
    const number = ++declared;
    it(title, { ...(timeoutMs !== undefined && { timeout: timeoutMs }) }, async (context: TestContext) => {
      const reason = missing?.() ?? (reached < number - 1 ? 'an earlier step failed' : undefined);
      if (reason !== undefined) return account.skip(context, title, reason);
      const startedAt = performance.now();
      const words = await act();
      account.checked(`${prefix}${words} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
      reached = number;
    });
  };
}
