/** `/nodes`: the list of nodes, and the handle of one node with its network and hardware. */

import { z } from 'zod';
import type { Random } from '../../../base/random.ts';
import type { CallOptions } from '../../exchange.ts';
import { apiPath } from '../../path.ts';
import type { Api } from '../../request.ts';
import { flag, maybe, nodeShape, numeric, type PveVersion, text, versionSchema } from '../shapes.ts';
import { NodeVms, VmHandle } from './qemu/index.ts';
import { NodeStorage, NodeStorages } from './storage.ts';
import { NodeTasks } from './tasks.ts';

const nodeEntrySchema = z.lazy(() =>
  z.looseObject({
    node: nodeShape,
    status: z.enum(['online', 'offline', 'unknown']),
    ssl_fingerprint: maybe(z.string()),
    /** The numbers below need Sys.Audit. */
    maxcpu: maybe(numeric),
    cpu: maybe(numeric),
    maxmem: maybe(numeric),
    mem: maybe(numeric),
    uptime: maybe(numeric),
  }),
);
const nodeEntriesSchema = z.lazy(() => z.array(nodeEntrySchema));
export type NodeEntry = z.output<typeof nodeEntrySchema>;

const nodeStatusSchema = z.lazy(() =>
  z.looseObject({
    uptime: numeric,
    memory: z.looseObject({ total: numeric, used: numeric, free: maybe(numeric) }),
    cpuinfo: z.looseObject({ cpus: numeric, model: maybe(text), flags: maybe(z.string()) }),
    pveversion: maybe(z.string()),
  }),
);
export type NodeStatus = z.output<typeof nodeStatusSchema>;

const interfaceSchema = z.lazy(() =>
  z.looseObject({
    iface: z.string(),
    type: z.string(),
    active: maybe(flag),
    bridge_vlan_aware: maybe(flag),
    cidr: maybe(z.string()),
  }),
);
const interfacesSchema = z.lazy(() => z.array(interfaceSchema));
export type NodeInterface = z.output<typeof interfaceSchema>;

const pciDeviceSchema = z.lazy(() =>
  z.looseObject({
    /** `0000:01:00.0`. */
    id: z.string(),
    class: text,
    vendor: text,
    device: text,
    vendor_name: maybe(text),
    device_name: maybe(text),
    subsystem_vendor: maybe(text),
    subsystem_device: maybe(text),
    /** -1 without an IOMMU. */
    iommugroup: maybe(numeric),
    mdev: maybe(flag),
  }),
);
const pciDevicesSchema = z.lazy(() => z.array(pciDeviceSchema));
export type PciDevice = z.output<typeof pciDeviceSchema>;

const usbDeviceSchema = z.lazy(() =>
  z.looseObject({
    busnum: numeric,
    devnum: numeric,
    vendid: text,
    prodid: text,
    product: maybe(text),
    manufacturer: maybe(text),
    usbpath: maybe(text),
  }),
);
const usbDevicesSchema = z.lazy(() => z.array(usbDeviceSchema));
export type UsbDevice = z.output<typeof usbDeviceSchema>;

const cpuModelSchema = z.lazy(() =>
  z.looseObject({
    name: text,
    /** Defined by an administrator of this cluster. Such models are listed only with Sys.Audit on /nodes. */
    custom: maybe(flag),
    vendor: maybe(text),
  }),
);
const cpuModelsSchema = z.lazy(() => z.array(cpuModelSchema));
export type CpuModel = z.output<typeof cpuModelSchema>;

const urlMetadataSchema = z.lazy(() =>
  z.looseObject({
    filename: maybe(z.string()),
    mimetype: maybe(z.string()),
    size: maybe(numeric),
  }),
);

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

  /** `any_bridge` lists everything that a NIC can be attached to: bridges and, with SDN, vnets. */
  network(params: { readonly type?: string | undefined } = {}, options?: CallOptions): Promise<NodeInterface[]> {
    return this.#api.get(apiPath`/nodes/${this.name}/network`, interfacesSchema, { ...params }, options);
  }

  /** By default the server leaves out bridges and memory controllers. */
  pciDevices(
    params: { readonly 'pci-class-blacklist'?: string | undefined; readonly verbose?: boolean | undefined } = {},
    options?: CallOptions,
  ): Promise<PciDevice[]> {
    return this.#api.get(apiPath`/nodes/${this.name}/hardware/pci`, pciDevicesSchema, { ...params }, options);
  }

  usbDevices(options?: CallOptions): Promise<UsbDevice[]> {
    return this.#api.get(apiPath`/nodes/${this.name}/hardware/usb`, usbDevicesSchema, {}, options);
  }

  /** What `cputype` may name. The node that receives the request answers for its own architecture. */
  cpuModels(options?: CallOptions): Promise<CpuModel[]> {
    return this.#api.get(apiPath`/nodes/${this.name}/capabilities/qemu/cpu`, cpuModelsSchema, {}, options);
  }

  /** The node asks a web server for the name and size of a file. */
  queryUrlMetadata(
    params: { readonly url: string; readonly 'verify-certificates'?: boolean | undefined },
    options?: CallOptions,
  ) {
    return this.#api.get(apiPath`/nodes/${this.name}/query-url-metadata`, urlMetadataSchema, { ...params }, options);
  }
}
