/** The provider's configuration, checked as far as possible without a server and without reading files. */
import type { z } from 'zod';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { toDiagnostic } from '../../base/errors.ts';
import type { Rollout } from '../../kinds/stack.ts';
import { parseToken } from '../../pve/http/credentials.ts';
import { caTrust } from '../../pve/http/endpoint.ts';
import { retryProblem, rolloutOf } from '../../spec/sections/sections.ts';
import { rolloutSchema } from '../../spec/stack-schema.ts';
import type { CtyObject } from '../cty/value.ts';
import { badValue, readArguments } from './arguments.ts';
import { configurationSchema } from './table.ts';

type Written = z.output<typeof configurationSchema>;

export interface Settings extends Omit<Written, 'rollout'> {
  readonly rollout: Rollout;
}

export interface ReadSettings {
  /** Undefined where something is invalid. */
  readonly settings: Settings | undefined;
  /** Dotted paths of what is known only after apply. */
  readonly unknown: ReadonlySet<string>;
  readonly problems: readonly Diagnostic[];
}

export function readSettings(config: CtyObject): ReadSettings {
  const { value, tree, unknown, problems } = readArguments(configurationSchema, config, 'the provider');
  if (!value) return { settings: undefined, unknown, problems };
  // The table of a stack file supplies the defaults.
  const rollout = rolloutOf(rolloutSchema.parse(tree.rollout ?? {}));
  const found = [...problems, ...contradictions(value), ...malformed(value), ...ofRollout(rollout)];
  return { settings: found.length === 0 ? { ...value, rollout } : undefined, unknown, problems: found };
}

/** PEM text rather than a path. */
export function isPem(text: string): boolean {
  return text.includes('-----BEGIN');
}

function contradictions(value: Written): Diagnostic[] {
  const found: Diagnostic[] = [];
  const tokens = (['token', 'token_file', 'token_command'] as const).filter((name) => value[name] !== undefined);
  if (tokens.length > 1) {
    const detail = `${tokens.map((name) => `"${name}"`).join(' and ')} cannot be used together.`;
    found.push(badValue(tokens[1] ?? 'token', detail).diagnostic);
  }
  if (value.fingerprint !== undefined && value.ca !== undefined) {
    const detail = '"fingerprint" and "ca" cannot be used together.';
    const hint = 'Keep "ca" if the certificate of the server is renewed from time to time, otherwise "fingerprint".';
    found.push(badValue('fingerprint', detail, hint).diagnostic);
  }
  return found;
}

function malformed({ token, ca }: Written): Diagnostic[] {
  return [
    ...problemsOf('token', () => token === undefined || parseToken(token)),
    ...problemsOf('ca', () => ca === undefined || !isPem(ca) || caTrust(ca)),
  ];
}

function problemsOf(field: string, read: () => unknown): Diagnostic[] {
  try {
    read();
    return [];
  } catch (error) {
    return [{ ...toDiagnostic(error), where: { field } }];
  }
}

function ofRollout({ retry }: Rollout): Diagnostic[] {
  const detail = retryProblem(retry);
  return detail === undefined ? [] : [badValue('rollout.retry.max', detail).diagnostic];
}
