/** `/cluster/ha`: the guests that the HA manager keeps running, and where: rules, or groups before Proxmox VE 9. */
import { z } from 'zod';
import type { CallOptions } from '../exchange.ts';
import { apiPath } from '../path.ts';
import type { Api } from '../request.ts';
import { anything, commaList, flag, maybe, numeric, text } from './shapes.ts';

const haResourceSchema = z.lazy(() =>
  z.looseObject({
    /** `vm:101`. */
    sid: z.string(),
    state: maybe(z.string()),
    group: maybe(text),
    max_restart: maybe(numeric),
    max_relocate: maybe(numeric),
    failback: maybe(flag),
    comment: maybe(text),
    digest: maybe(z.string()),
  }),
);
const haResourcesSchema = z.lazy(() => z.array(haResourceSchema));
export type HaResource = z.output<typeof haResourceSchema>;

export interface HaResourceParams {
  readonly state?: 'started' | 'stopped' | 'disabled' | 'ignored' | undefined;
  readonly max_restart?: number | undefined;
  readonly max_relocate?: number | undefined;
  readonly failback?: boolean | undefined;
  /** Only before PVE 9, which replaced groups by rules. */
  readonly group?: string | undefined;
  readonly comment?: string | undefined;
}

/** `/cluster/ha/resources`: the guests that the HA manager keeps running. */
export class HaResources {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(options?: CallOptions): Promise<HaResource[]> {
    return this.#api.get(apiPath`/cluster/ha/resources`, haResourcesSchema, { type: 'vm' }, options);
  }

  /** Also containers. */
  listAll(options?: CallOptions): Promise<HaResource[]> {
    return this.#api.get(apiPath`/cluster/ha/resources`, haResourcesSchema, {}, options);
  }

  create(vmid: number, params: HaResourceParams = {}, options?: CallOptions): Promise<void> {
    return this.#api.post(apiPath`/cluster/ha/resources`, anything, { sid: `vm:${vmid}`, ...params }, options);
  }

  update(
    vmid: number,
    params: HaResourceParams & { readonly delete?: 'group' | undefined; readonly digest?: string | undefined },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.put(apiPath`/cluster/ha/resources/${`vm:${vmid}`}`, anything, { ...params }, options);
  }

  delete(vmid: number, options?: CallOptions): Promise<void> {
    return this.#api.delete(apiPath`/cluster/ha/resources/${`vm:${vmid}`}`, anything, {}, options);
  }
}

const haRuleSchema = z.lazy(() =>
  z.looseObject({
    rule: z.string(),
    type: z.string(),
    /** `vm:101`. */
    resources: commaList,
    /** Of a node affinity: `pve1`, or `pve1:2` with a priority. */
    nodes: maybe(commaList),
    strict: maybe(flag),
    /** Of a resource affinity: `positive` or `negative`. */
    affinity: maybe(z.string()),
    disable: maybe(flag),
    comment: maybe(text),
    /** Covers all rules together. */
    digest: maybe(z.string()),
  }),
);
const haRulesSchema = z.lazy(() => z.array(haRuleSchema));
export type HaRule = z.output<typeof haRuleSchema>;

export interface HaRuleParams {
  readonly resources: readonly string[];
  readonly nodes?: readonly string[] | undefined;
  readonly strict?: boolean | undefined;
  readonly affinity?: 'positive' | 'negative' | undefined;
}

/**
 * `/cluster/ha/rules`: which nodes HA resources run on, and which of them stay together or apart. Since 9.0. The order
 * in which the server lists rules has no meaning.
 */
export class HaRules {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(options?: CallOptions): Promise<HaRule[]> {
    return this.#api.get(apiPath`/cluster/ha/rules`, haRulesSchema, {}, options);
  }

  create(
    rule: string,
    params: HaRuleParams & { readonly type: string; readonly comment?: string | undefined },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.post(apiPath`/cluster/ha/rules`, anything, { rule, ...onWire(params) }, options);
  }

  /** `type` is that of the rule. Only `delete: 'disable'` enables a rule again: `disable=0` does nothing. */
  update(
    rule: string,
    params: HaRuleParams & {
      readonly type: string;
      readonly delete?: 'disable' | undefined;
      readonly digest?: string | undefined;
    },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.put(apiPath`/cluster/ha/rules/${rule}`, anything, onWire(params), options);
  }

  /** Succeeds also if there is no such rule. */
  delete(rule: string, options?: CallOptions): Promise<void> {
    return this.#api.delete(apiPath`/cluster/ha/rules/${rule}`, anything, {}, options);
  }
}

function onWire<Params extends HaRuleParams>({ resources, nodes, ...others }: Params) {
  return { ...others, resources: resources.join(','), ...(nodes && { nodes: nodes.join(',') }) };
}

const haGroupSchema = z.lazy(() =>
  z.looseObject({
    group: z.string(),
    /** `pve1`, or `pve1:2` with a priority. */
    nodes: maybe(commaList),
    /** Its resources run on these nodes and on no others. */
    restricted: maybe(flag),
    comment: maybe(text),
    /** Covers all groups together. */
    digest: maybe(z.string()),
  }),
);
const haGroupsSchema = z.lazy(() => z.array(haGroupSchema));
export type HaGroup = z.output<typeof haGroupSchema>;

export interface HaGroupParams {
  readonly nodes: readonly string[];
  readonly restricted: boolean;
}

/** `/cluster/ha/groups`: which nodes HA resources run on. Until 9.0, which has rules instead. A resource names its group. */
export class HaGroups {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  list(options?: CallOptions): Promise<HaGroup[]> {
    return this.#api.get(apiPath`/cluster/ha/groups`, haGroupsSchema, {}, options);
  }

  create(
    group: string,
    { nodes, ...others }: HaGroupParams & { readonly comment?: string | undefined },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.post(apiPath`/cluster/ha/groups`, anything, { group, nodes: nodes.join(','), ...others }, options);
  }

  update(
    group: string,
    { nodes, ...others }: HaGroupParams & { readonly digest?: string | undefined },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.put(
      apiPath`/cluster/ha/groups/${group}`,
      anything,
      { nodes: nodes.join(','), ...others },
      options,
    );
  }

  /** Refused while a resource is in it; succeeds also if there is no such group. */
  delete(group: string, options?: CallOptions): Promise<void> {
    return this.#api.delete(apiPath`/cluster/ha/groups/${group}`, anything, {}, options);
  }
}
