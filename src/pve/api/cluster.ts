/** `/cluster`: guests, nodes and options of the whole cluster, and its device mappings. High availability is in `ha.ts`. */

import { z } from 'zod';
import type { CallOptions } from '../exchange.ts';
import { apiPath } from '../path.ts';
import type { Api } from '../request.ts';
import type { Vmid } from '../wire/ids.ts';
import { HaGroups, HaResources, HaRules } from './ha.ts';
import { anything, flag, maybe, numeric, text, vmidShape } from './shapes.ts';

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
  readonly haGroups: HaGroups;
  readonly mapping: Mappings;
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
    this.ha = new HaResources(api);
    this.haRules = new HaRules(api);
    this.haGroups = new HaGroups(api);
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

const mappingSchema = z.lazy(() =>
  z.looseObject({
    id: z.string(),
    description: maybe(text),
    /** Property strings such as `node=pve1,path=0000:01:00.0,id=10de:2204`. */
    map: z.array(z.string()),
    /** Of PCI devices, since 8.4: they move with a running VM. */
    'live-migration-capable': maybe(flag),
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
