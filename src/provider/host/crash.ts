/** A defect that nobody caught: the host shows what begins with `panic:` to the user, and nothing else of a dead plugin. */
import { redact, type Secret } from '../../base/secret.ts';

export interface CrashOptions {
  /** Written before it returns. */
  readonly write: (text: string) => void;
  readonly secrets: Iterable<Secret>;
}

export function installCrashHandlers(options: CrashOptions): void {
  const crash = (thrown: unknown) => {
    options.write(panicText(thrown, options.secrets));
    process.exit(2);
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}

export function panicText(thrown: unknown, secrets: Iterable<Secret>): string {
  const stack = thrown instanceof Error ? (thrown.stack ?? String(thrown)) : `Error: ${String(thrown)}`;
  const [first = '', ...rest] = stack.split('\n');
  const lines = [
    `panic: ${first}`,
    '',
    'This is a defect of terraform-provider-proxwright. Please report it with the lines below.',
    `node ${process.version} on ${process.platform} ${process.arch}`,
    '',
    ...rest,
    '',
  ];
  return redact(lines.join('\n'), secrets);
}
