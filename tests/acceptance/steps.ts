/** Steps that follow from each other: after the first failure the rest is skipped, and the account says so. */
import { it, type TestContext } from 'vitest';
import type { Account } from './account.ts';

/** `act` does the step and says in words what it has shown. */
export type StepMaker = (title: string, act: () => Promise<string>) => void;

/** `missing` says why none of them can be done; undefined where they can. */
export function stepsOf(account: Account, missing: () => string | undefined = () => undefined): StepMaker {
  let declared = 0;
  /** The last one that ended well. */
  let reached = 0;
  return (title, act) => {
    const number = ++declared;
    it(title, async (context: TestContext) => {
      const reason = missing();
      if (reason !== undefined) return account.skip(context, title, reason);
      if (reached < number - 1) return account.skip(context, title, 'an earlier step failed');
      const startedAt = performance.now();
      const words = await act();
      account.checked(`${words} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
      reached = number;
    });
  };
}
