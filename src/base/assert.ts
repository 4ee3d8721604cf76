/** Invariants that stay on in production: a failed one is our bug, and stopping beats provisioning nonsense. */
import { ProxwrightError } from './errors.ts';

export function invariant(condition: unknown, detail: string): asserts condition {
  if (!condition) throw new ProxwrightError({ code: 'INVARIANT', detail });
}

/** Ends an exhaustive `switch`: the compiler refuses it while a variant is unhandled. */
export function assertNever(value: never): never {
  throw new ProxwrightError({ code: 'INVARIANT', detail: `Unhandled variant: ${JSON.stringify(value)}.` });
}
