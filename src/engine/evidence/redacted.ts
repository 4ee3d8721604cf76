/** A copy of plain data in which no text holds a secret. Keys stay: they are names of fields. Pure. */
import { redact, type Secret } from '../../base/secret.ts';

export function redacted<Value>(value: Value, secrets: readonly Secret[]): Value {
  return withoutSecrets(value, secrets) as Value; // the same shape, with other words in its texts
}

function withoutSecrets(value: unknown, secrets: readonly Secret[]): unknown {
  if (typeof value === 'string') return redact(value, secrets);
  if (Array.isArray(value)) return value.map((each) => withoutSecrets(each, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutSecrets(each, secrets)]));
}
