/** `/nodes`: the list of nodes, and one node as a handle. */
import { z } from 'zod';
import type { Random } from '../../../base/random.ts';
import type { CallOptions } from '../../exchange.ts';
import { apiPath } from '../../path.ts';
import type { Api } from '../../request.ts';
import { maybe, nodeShape, numeric, text } from '../shapes.ts';
import { type PveVersion, versionSchema } from '../version.ts';
import { listPciDevices, listUsbDevices, type PciDevice, type UsbDevice } from './hardware.ts';
import { listInterfaces, type NodeInterface } from './network.ts';
import { NodeVms, VmHandle } from './qemu/index.ts';
import { NodeStorage, NodeStorages } from './storage/index.ts';
import { NodeTasks } from './tasks.ts';

const nodeEntrySchema = z.looseObject({
  node: nodeShape,
  status: z.enum(['online', 'offline', 'unknown']),
  ssl_fingerprint: maybe(z.string()),
  /** The numbers are there only for those with Sys.Audit. */
  maxcpu: maybe(numeric),
  cpu: maybe(numeric),
  maxmem: maybe(numeric),
  mem: maybe(numeric),
  uptime: maybe(numeric),
});
const nodeEntriesSchema = z.array(nodeEntrySchema);
export type NodeEntry = z.output<typeof nodeEntrySchema>;

const nodeStatusSchema = z.looseObject({
  uptime: numeric,
  memory: z.looseObject({ total: numeric, used: numeric, free: maybe(numeric) }),
  cpuinfo: z.looseObject({ cpus: numeric, model: maybe(text), flags: maybe(z.string()) }),
  pveversion: maybe(z.string()),
});
export type NodeStatus = z.output<typeof nodeStatusSchema>;

const urlMetadataSchema = z.looseObject({
  filename: maybe(z.string()),
  mimetype: maybe(z.string()),
  size: maybe(numeric),
});

export function listNodes(api: Api, options?: CallOptions): Promise<NodeEntry[]> {
  return api.get(apiPath`/nodes`, nodeEntriesSchema, {}, options);
}

export class NodeHandle {
  readonly name: string;
  readonly vms: NodeVms;
  readonly storages: NodeStorages;
  readonly tasks: NodeTasks;
  readonly #api: Api;
  readonly #random: Random;

  constructor(api: Api, random: Random, name: string) {
    this.#api = api;
    this.#random = random;
    this.name = name;
    this.vms = new NodeVms(api, name);
    this.storages = new NodeStorages(api, name);
    this.tasks = new NodeTasks(api, name);
  }

  vm(vmid: number): VmHandle {
    return new VmHandle({ api: this.#api, node: this.name, vmid });
  }

  storage(storage: string): NodeStorage {
    return new NodeStorage({ api: this.#api, random: this.#random, node: this.name, storage });
  }

  status(options?: CallOptions): Promise<NodeStatus> {
    return this.#api.get(apiPath`/nodes/${this.name}/status`, nodeStatusSchema, {}, options);
  }

  version(options?: CallOptions): Promise<PveVersion> {
    return this.#api.get(apiPath`/nodes/${this.name}/version`, versionSchema, {}, options);
  }

  network(params?: Parameters<typeof listInterfaces>[2], options?: CallOptions): Promise<NodeInterface[]> {
    return listInterfaces(this.#api, this.name, params, options);
  }

  pciDevices(params?: Parameters<typeof listPciDevices>[2], options?: CallOptions): Promise<PciDevice[]> {
    return listPciDevices(this.#api, this.name, params, options);
  }

  usbDevices(options?: CallOptions): Promise<UsbDevice[]> {
    return listUsbDevices(this.#api, this.name, options);
  }

  /** Asks a web server for the size and name of a file, from the node's side. */
  queryUrlMetadata(
    params: { readonly url: string; readonly 'verify-certificates'?: boolean | undefined },
    options?: CallOptions,
  ) {
    return this.#api.get(apiPath`/nodes/${this.name}/query-url-metadata`, urlMetadataSchema, { ...params }, options);
  }
}
