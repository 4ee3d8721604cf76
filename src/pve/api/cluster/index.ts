/** `/cluster`: what is known about the whole cluster. */
import { z } from 'zod';
import type { CallOptions } from '../../exchange.ts';
import { apiPath } from '../../path.ts';
import type { Api } from '../../request.ts';
import type { Vmid } from '../../wire/ids.ts';
import { flag, maybe, numeric, text, vmidShape } from '../shapes.ts';
import { HaResources } from './ha.ts';
import { Mappings } from './mapping.ts';

const resourceSchema = z.looseObject({
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
  storage: maybe(z.string()),
  hastate: maybe(z.string()),
});
const resourcesSchema = z.array(resourceSchema);
export type ClusterResource = z.output<typeof resourceSchema>;

const statusEntrySchema = z.looseObject({
  type: z.enum(['cluster', 'node']),
  name: z.string(),
  quorate: maybe(flag),
  online: maybe(flag),
  local: maybe(flag),
  ip: maybe(z.string()),
});
const statusEntriesSchema = z.array(statusEntrySchema);
export type ClusterStatusEntry = z.output<typeof statusEntrySchema>;

const optionsSchema = z.looseObject({ mac_prefix: maybe(z.string()), 'allowed-tags': maybe(z.array(z.string())) });
export type ClusterOptions = z.output<typeof optionsSchema>;

export class Cluster {
  readonly ha: HaResources;
  readonly mapping: Mappings;
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
    this.ha = new HaResources(api);
    this.mapping = new Mappings(api);
  }

  /** The lowest free id. It reserves nothing: two callers may get the same. */
  nextid(options?: CallOptions): Promise<Vmid> {
    return this.#api.get(apiPath`/cluster/nextid`, vmidShape, {}, options);
  }

  /** Whether an id is free, seeing also guests that the caller may not see. A taken one fails with `VMID_TAKEN`. */
  async assertFree(vmid: number, options?: CallOptions): Promise<void> {
    await this.#api.get(apiPath`/cluster/nextid`, vmidShape, { vmid }, options);
  }

  /** Up to 11 s old and not even monotonic: tells on which node a guest is, and proves nothing else. */
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
