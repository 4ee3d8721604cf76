/** `/cluster`: guests, nodes and options of the whole cluster, its HA resources and rules, and its device mappings. */

import { z } from 'zod';
import type { CallOptions } from '../exchange.ts';
import { apiPath } from '../path.ts';
import type { Api } from '../request.ts';
import type { Vmid } from '../wire/ids.ts';
import { anything, commaList, flag, maybe, numeric, text, vmidShape } from './shapes.ts';

const resourceSchema = z.lazy(() =>
  z.looseObject({
    id: z.string(),
    type: z.string(),
    node: maybe(z.string()),
    /** `unknown` for a fresh VM, which also lacks name and template for up to 10 s. */
    status: maybe(z.string()),
    vmid: maybe(numeric),
    name: maybe(text),
    template: maybe(flag),
    lock: maybe(z.string()),
    tags: maybe(text),
    pool: maybe(text),
    /** Of a node: its CPUs and its memory, if the caller may see its statistics. Of a guest: what it is configured with. */
    maxcpu: maybe(numeric),
    maxmem: maybe(numeric),
    mem: maybe(numeric),
    storage: maybe(z.string()),
    hastate: maybe(z.string()),
  }),
);
const resourcesSchema = z.lazy(() => z.array(resourceSchema));
export type ClusterResource = z.output<typeof resourceSchema>;

const statusEntrySchema = z.lazy(() =>
  z.looseObject({
    type: z.enum(['cluster', 'node']),
    name: z.string(),
    quorate: maybe(flag),
    online: maybe(flag),
    local: maybe(flag),
    ip: maybe(z.string()),
  }),
);
const statusEntriesSchema = z.lazy(() => z.array(statusEntrySchema));
export type ClusterStatusEntry = z.output<typeof statusEntrySchema>;

const optionsSchema = z.lazy(() =>
  z.looseObject({ mac_prefix: maybe(z.string()), 'allowed-tags': maybe(z.array(z.string())) }),
);
export type ClusterOptions = z.output<typeof optionsSchema>;

export class Cluster {
  readonly ha: HaResources;
  readonly haRules: HaRules;
  readonly mapping: Mappings;
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
    this.ha = new HaResources(api);
    this.haRules = new HaRules(api);
    this.mapping = new Mappings(api);
  }

  /** The lowest free id. Proxmox does not reserve it: two callers may get the same one. */
  nextid(options?: CallOptions): Promise<Vmid> {
    return this.#api.get(apiPath`/cluster/nextid`, vmidShape, {}, options);
  }

  /** Fails with `VMID_TAKEN` if the id is taken, also by a guest that the caller may not see. */
  async assertFree(vmid: number, options?: CallOptions): Promise<void> {
    await this.#api.get(apiPath`/cluster/nextid`, vmidShape, { vmid }, options);
  }

  /** Up to 11 s old and not monotonic: use it to find the node of a guest, and for nothing else. */
  resources(
    params: { readonly type?: 'vm' | 'storage' | 'node' | 'sdn' | undefined } = {},
    options?: CallOptions,
  ): Promise<ClusterResource[]> {
    return this.#api.get(apiPath`/cluster/resources`, resourcesSchema, { ...params }, options);
  }

  status(options?: CallOptions): Promise<ClusterStatusEntry[]> {
    return this.#api.get(apiPath`/cluster/status`, statusEntriesSchema, {}, options);
  }

  options(options?: CallOptions): Promise<ClusterOptions> {
    return this.#api.get(apiPath`/cluster/options`, optionsSchema, {}, options);
  }
}

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
    params: HaResourceParams & { readonly digest?: string | undefined },
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
 * `/cluster/ha/rules`: which nodes HA resources run on, and which of them stay together or apart. Since 9.0. The order in
 * which the server lists rules means nothing.
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

const mappingSchema = z.lazy(() =>
  z.looseObject({
    id: z.string(),
    description: maybe(text),
    /** Property strings such as `node=pve1,path=0000:01:00.0,id=10de:2204`. */
    map: z.array(z.string()),
    /** Covers all mappings of this type together. */
    digest: maybe(text),
    /** Present only with `check-node`. */
    checks: maybe(z.array(z.looseObject({ severity: z.string(), message: z.string() }))),
  }),
);
const mappingsSchema = z.lazy(() => z.array(mappingSchema));
export type DeviceMapping = z.output<typeof mappingSchema>;

/** `/cluster/mapping`: named devices. Only through a mapping can a token pass hardware through. */
export class Mappings {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** Proxmox accepts a VM that names a missing mapping, so check here first. */
  pci(params: { readonly 'check-node'?: string | undefined } = {}, options?: CallOptions): Promise<DeviceMapping[]> {
    return this.#api.get(apiPath`/cluster/mapping/pci`, mappingsSchema, { ...params }, options);
  }

  usb(params: { readonly 'check-node'?: string | undefined } = {}, options?: CallOptions): Promise<DeviceMapping[]> {
    return this.#api.get(apiPath`/cluster/mapping/usb`, mappingsSchema, { ...params }, options);
  }

  /** Directories of the nodes, which VMs share. Proxmox VE has them since 8.4. */
  dir(params: { readonly 'check-node'?: string | undefined } = {}, options?: CallOptions): Promise<DeviceMapping[]> {
    return this.#api.get(apiPath`/cluster/mapping/dir`, mappingsSchema, { ...params }, options);
  }

  createPci(
    params: {
      readonly id: string;
      readonly map: readonly string[];
      readonly description?: string | undefined;
      /** Whether the devices provide mediated devices. */
      readonly mdev?: boolean | undefined;
    },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.post(apiPath`/cluster/mapping/pci`, anything, { ...params }, options);
  }

  /** `map` replaces all entries; other properties stay unless given. */
  updatePci(
    id: string,
    params: { readonly map: readonly string[]; readonly digest?: string | undefined },
    options?: CallOptions,
  ): Promise<void> {
    return this.#api.put(apiPath`/cluster/mapping/pci/${id}`, anything, { ...params }, options);
  }

  deletePci(id: string, options?: CallOptions): Promise<void> {
    return this.#api.delete(apiPath`/cluster/mapping/pci/${id}`, anything, {}, options);
  }
}
