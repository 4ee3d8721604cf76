/** What was checked and what was not, in words; printed when a test file has ended. */
import type { TestContext } from 'vitest';

export class Account {
  readonly #lines: string[] = [];

  checked(what: string): void {
    this.#lines.push(`checked  ${what}`);
  }

  /** Ends the test as skipped; the reason is printed with the rest. */
  skip(context: TestContext, what: string, reason: string): never {
    this.#lines.push(`skipped  ${what}: ${reason}`);
    return context.skip(reason);
  }

  print(): void {
    process.stdout.write(`${this.#lines.map((line) => `  ${line}`).join('\n')}\n`);
  }
}
