/** The facts about the API of one release: those of the newest release with every later change undone. */
import { isSince } from '../../base/release.ts';
import { API_CHANGES, type ApiChange } from './api-changes.ts';
import { API_FACTS } from './api-facts.generated.ts';
import { EXTRA_FACTS } from './extra-facts.ts';
import type { EndpointFacts, ParamSchema, ParamSchemas } from './types.ts';

export type ApiFacts = Readonly<Record<string, EndpointFacts>>;

const NEWEST: ApiFacts = { ...API_FACTS, ...EXTRA_FACTS };

/** `version` as the server says it: `8.4.1`. */
export function apiOf(version: string, newest: ApiFacts = NEWEST): ApiFacts {
  const changes = API_CHANGES.filter(({ before }) => !isSince(version, before));
  if (changes.length === 0) return newest;
  const facts = new Map(Object.entries(newest));
  for (const change of changes) {
    for (const name of endpointsOf(change, newest)) {
      const endpoint = facts.get(name);
      if (!endpoint) continue;
      if (change.absent) facts.delete(name);
      else facts.set(name, takenBack(endpoint, change));
    }
  }
  return Object.fromEntries(facts);
}

/** Names of endpoints that a change is about, whether or not a release still has them. */
export function endpointsOf({ endpoints }: ApiChange, newest: ApiFacts = NEWEST): string[] {
  return endpoints.flatMap((pattern) => {
    if (!pattern.includes('*')) return [pattern];
    const [method = '', path = ''] = pattern.split(' ');
    const stem = path.replace(/\*$/, '');
    return Object.keys(newest).filter((name) => {
      const [ownMethod = '', ownPath = ''] = name.split(' ');
      return (method === '*' || method === ownMethod) && (path === stem ? ownPath === stem : ownPath.startsWith(stem));
    });
  });
}

function takenBack(endpoint: EndpointFacts, change: ApiChange): EndpointFacts {
  const params = changed(endpoint.params, change.without, change.params);
  for (const [name, { without, params: parts }] of Object.entries(change.parts ?? {})) {
    const schema = params[name];
    if (schema && typeof schema.format === 'object') {
      params[name] = { ...schema, format: changed(schema.format, without, parts) };
    }
  }
  return { ...endpoint, params, permissions: change.permissions ?? endpoint.permissions };
}

function changed(
  schemas: ParamSchemas,
  without: readonly string[] = [],
  others: ParamSchemas = {},
): Record<string, ParamSchema> {
  const left = Object.entries(schemas).filter(([name]) => !without.includes(name));
  return { ...Object.fromEntries(left), ...others };
}
