/** For tests: the requests of the recorded scenarios, with the answers of a real server and the endpoint they reached. */
import { readdirSync, readFileSync } from 'node:fs';
import { buildRequest, type WholeRequest } from '../../../../tests/contract/replay/request.ts';
import type { RecordedAnswer, RequestParts } from '../../../../tests/contract/replay/types.ts';
import { API_FACTS } from '../api-facts.generated.ts';
import type { EndpointFacts } from '../types.ts';

export interface RecordedRequest {
  /** Scenario and step. */
  readonly title: string;
  readonly parts: RequestParts;
  readonly request: WholeRequest;
  readonly answer: RecordedAnswer;
}

const scenarios = new URL('../../../../tests/contract/scenarios/', import.meta.url);

/** Only the form of a value matters here, so every placeholder of a class gets the same one. */
const fillings: Readonly<Record<string, string>> = {
  date: '2026-11-15 19:12:19',
  digest: 'da39a3ee5e6b4b0d3255bfef95601890afd80709',
  hostnum: '7',
  mac: 'BC:24:11:00:00:01',
  password: 'secret-password',
  pid: '1234',
  rand: '0123456789abcdef0123456789abcdef',
  secret: '00000000-0000-0000-0000-000000000000',
  time: '1794769992',
  upid: 'UPID:pve1:00000001:00000001:5F000000:qmcreate:100:root@pam:',
  uuid: '01234567-89ab-cdef-0123-456789abcdef',
};

export function recordedRequests(): readonly RecordedRequest[] {
  return readdirSync(scenarios)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => {
      const text = readFileSync(new URL(name, scenarios), 'utf8');
      const filled = text.replace(/\$\{(\w+)(?::[^}]*)?\}/g, (all, kind: string) => fillings[kind] ?? all);
      const scenario = JSON.parse(filled) as { scenario: string; steps: readonly Step[] };
      return scenario.steps.flatMap((step) => requestsOf(scenario.scenario, step));
    });
}

type Recorded = RequestParts & { readonly id?: string; readonly response: RecordedAnswer };

type Step = { readonly id: string } & (
  | ({ readonly kind: 'request' } & Recorded)
  | { readonly kind: 'parallel'; readonly requests: readonly Recorded[] }
  | { readonly kind: 'await' | 'sleep' | 'awaitgroup' | 'poll' }
);

function requestsOf(scenario: string, step: Step): RecordedRequest[] {
  const recorded = step.kind === 'request' ? [step] : step.kind === 'parallel' ? step.requests : [];
  return recorded.map((parts) => ({
    title: `${scenario} ${parts.id ?? step.id}: ${parts.method} ${parts.path}`,
    parts,
    request: buildRequest(parts, {}),
    answer: parts.response,
  }));
}

/** The endpoint of a path and the variables in it, or undefined if the facts have no such endpoint. */
export function findEndpoint(
  method: string,
  segments: readonly string[],
): { facts: EndpointFacts; pathParams: Record<string, string> } | undefined {
  for (const [name, facts] of Object.entries(API_FACTS)) {
    const [endpointMethod, path = ''] = name.split(' ');
    const pathParams = endpointMethod === method ? matchPath(path.split('/').slice(1), segments) : undefined;
    if (pathParams !== undefined) return { facts, pathParams };
  }
  return undefined;
}

function matchPath(template: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const takesRest = template.at(-1) === '{volume}' && segments.length > template.length;
  if (template.length !== segments.length && !takesRest) return undefined;
  const pathParams: Record<string, string> = {};
  for (const [index, part] of template.entries()) {
    const value = takesRest && index === template.length - 1 ? segments.slice(index).join('/') : segments[index];
    if (value === undefined) return undefined;
    if (part.startsWith('{')) pathParams[part.slice(1, -1)] = value;
    else if (part !== value) return undefined;
  }
  return pathParams;
}
