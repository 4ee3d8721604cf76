/** `timeouts` of a resource: limits of single waits, by the names they have in the provider's `rollout.timeouts`. */
import { parseDuration } from '../../base/values/units.ts';
import type { Rollout } from '../../kinds/stack.ts';
import { type CtyObject, isObject } from '../cty/value.ts';
import type { ProviderDiagnostic } from '../provider.ts';
import type { Attribute, Attributes } from '../schema/model.ts';
import { problemAt } from '../values/diagnostics.ts';

export type Timeouts = Partial<Rollout['timeouts']>;

export interface ReadTimeouts {
  readonly timeouts: Timeouts;
  readonly problems: readonly ProviderDiagnostic[];
}

/** Name → what may take that long. */
export type TimeoutWords = Readonly<Record<string, string>>;

export function timeoutsAttribute(words: TimeoutWords, noun: string): Attribute {
  const attributes = Object.entries(words).map(([name, description]): [string, Attribute] => [
    name,
    { type: { kind: 'value', type: 'string' }, given: 'optional', description },
  ]);
  return {
    type: { kind: 'nested', nesting: 'single', attributes: Object.fromEntries(attributes) },
    given: 'optional',
    description: `How long each wait for this ${noun} may take. Defaults to the provider’s \`rollout.timeouts\`.`,
  };
}

export function readTimeouts(config: CtyObject, words: TimeoutWords, attributes: Attributes): ReadTimeouts {
  const written = isObject(config.timeouts) ? config.timeouts : {};
  const problems: ProviderDiagnostic[] = [];
  const entries = Object.keys(words).flatMap((name): [string, number][] => {
    const text = written[name];
    if (typeof text !== 'string') return [];
    const ms = parseDuration(text);
    if (ms !== undefined) return [[`${name}Ms`, ms]];
    const detail = `"${text}" is not a duration; write for example 30s, 5m or 1h30m.`;
    problems.push(problemAt(`timeouts.${name}`, detail, attributes));
    return [];
  });
  return { timeouts: Object.fromEntries(entries), problems };
}
