/**
 * The vocabulary of the parameter schema: what an endpoint declares and what a request sends.
 * The declarations themselves are generated into `api-facts.generated.ts`.
 */
import type { ReleaseNumber } from '../../base/values/release.ts';

export type ParamType = 'string' | 'integer' | 'number' | 'boolean' | 'array';

/** The sub-keys of a property string such as `virtio=AA:BB:…,bridge=vmbr0`. */
export type PropertyFormat = Readonly<Record<string, ParamSchema>>;

export interface ParamSchema {
  readonly type?: ParamType;
  readonly optional?: true;
  readonly default?: string | number;
  /** The name of a registered format (with `-list` or `-opt`), or the format of a property string itself. */
  readonly format?: string | PropertyFormat;
  readonly enum?: readonly string[];
  /** Perl syntax, as the server has it; `matchesPerlPattern` reads it. */
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  /** The parameter that is required as well. */
  readonly requires?: string;
  readonly items?: ParamSchema;
  /** In a property string, the key of a value written without one. */
  readonly default_key?: true;
  /** Another name for the key given here. */
  readonly alias?: string;
  /** With `alias`: the key that receives this key's own name (`virtio=MAC` means model `virtio`). */
  readonly keyAlias?: string;
  /** For a name ending in `[n]`: how many there are, counted from 0. */
  readonly count?: number;
}

export type ParamSchemas = Readonly<Record<string, ParamSchema>>;

/** The privileges that a call requires before its handler runs, as nested lists in the server's own notation. */
export type PermissionCheck =
  | readonly ['perm', path: string, privileges: readonly string[], ...options: (string | number)[]]
  | readonly ['or' | 'and', ...PermissionCheck[]]
  | readonly ['userid-param', privilegeOrSelf: string]
  | readonly ['userid-group', privileges: readonly string[], ...options: (string | number)[]]
  | readonly ['perm-modify', path: string];

export interface Permissions {
  readonly check?: PermissionCheck;
  /** `world`: no login at all; `all`: any login. */
  readonly user?: string;
}

export interface EndpointFacts {
  readonly params: ParamSchemas;
  /** By the value of the parameter `type`: what a request of that type may have besides `params`. */
  readonly variants?: Readonly<Record<string, ParamSchemas>>;
  readonly permissions: Permissions;
  /** Runs in the privileged daemon. */
  readonly protected?: true;
  /** The parameter naming the node the call is forwarded to. */
  readonly proxyto?: string;
  /** Only present where an API token may not call it. */
  readonly allowtoken?: false;
}

/** Endpoints that are known by name only. */
export interface OtherEndpoints {
  readonly since: ReleaseNumber;
  readonly until?: ReleaseNumber;
  readonly endpoints: readonly string[];
}

/** A value as it arrived: text from forms and queries, JSON types from JSON bodies. */
export type RawValue = string | number | boolean | null | readonly RawValue[] | { readonly [key: string]: RawValue };

/** Parameters of the path, the query and the body together. */
export type RawParams = Readonly<Record<string, RawValue>>;

/**
 * A value as handlers receive it: integers as numbers, booleans as 0 or 1, everything else as text. A `number` keeps
 * its text because the server stores it as written. `null` is a key that was sent without a value (JSON null, or a form
 * key without `=`): it passes validation like an absent one, but it is present.
 */
export type ParamValue = string | number | null | readonly (string | number)[];

/** What validation needs to know about the world. */
export interface ValidationContext {
  /** Names of custom CPU models, without their `custom-` prefix. */
  readonly customCpuModels?: ReadonlySet<string>;
  /** The privileges that the release knows; those of the newest one where it is left out. */
  readonly privileges?: ReadonlySet<string>;
}

/** What the endpoint declares for requests of this `type` only. */
export function variantOf({ variants }: EndpointFacts, type: unknown): ParamSchemas {
  return typeof type === 'string' && variants && Object.hasOwn(variants, type) ? (variants[type] ?? {}) : {};
}

/** All schemas that apply to a request of this `type`. */
export function schemasFor(facts: EndpointFacts, type: unknown): ParamSchemas {
  return facts.variants ? { ...variantOf(facts, type), ...facts.params } : facts.params;
}

/** Finds the schema of a parameter by the name it is sent under: `net3` is one of the 32 declared as `net[n]`. */
export function findParamSchema(params: ParamSchemas, name: string): ParamSchema | undefined {
  if (Object.hasOwn(params, name)) return name.endsWith('[n]') ? undefined : params[name];
  const match = /^([a-z]+)(0|[1-9]\d*)$/.exec(name);
  if (!match) return undefined;
  const family = `${match[1]}[n]`;
  const schema = Object.hasOwn(params, family) ? params[family] : undefined;
  return schema?.count !== undefined && Number(match[2]) < schema.count ? schema : undefined;
}
