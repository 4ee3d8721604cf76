/** `/nodes/{node}/qemu`: the VMs of a node, and the handle of one VM. Creating a handle sends no request. */

import { z } from 'zod';
import type { Method } from '../../../../base/transport.ts';
import type { CallOptions } from '../../../exchange.ts';
import { apiPath } from '../../../path.ts';
import type { Api } from '../../../request.ts';
import type { FormParams } from '../../../wire/encoding.ts';
import type { Upid } from '../../../wire/ids.ts';
import { anything, flag, maybe, numeric, text, vmidShape } from '../../shapes.ts';
import { VmAgent } from './agent.ts';
import { type PendingEntry, VmCloudinit, VmConfigHandle } from './config.ts';
import { type VmScope, vmPath } from './scope.ts';
import { VmSnapshots } from './snapshot.ts';
import { VmStatusHandle } from './status.ts';

const vmEntrySchema = z.lazy(() =>
  z.looseObject({
    vmid: vmidShape,
    status: z.string(),
    name: maybe(text),
    template: maybe(flag),
    lock: maybe(z.string()),
    tags: maybe(text),
    uptime: maybe(numeric),
    /** Bytes that the guest has received and sent since it started. Received bytes include broadcasts of other machines. */
    netin: maybe(numeric),
    netout: maybe(numeric),
    maxmem: maybe(numeric),
    maxdisk: maybe(numeric),
  }),
);
const vmEntriesSchema = z.lazy(() => z.array(vmEntrySchema));
export type VmEntry = z.output<typeof vmEntrySchema>;

/** Configuration keys plus `pool`, `storage`, `start` and others; drives in allocation syntax. */
export type CreateVmParams = FormParams & { readonly vmid: number };

export interface DestroyParams {
  /** Also removes the VM from backup jobs, replication and HA. */
  readonly purge?: boolean | undefined;
  readonly 'destroy-unreferenced-disks'?: boolean | undefined;
  /** Ignores a lock, such as the one that an interrupted destroy leaves. Only for root@pam, and not for its tokens. */
  readonly skiplock?: boolean | undefined;
}

export interface CloneParams {
  readonly newid: number;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  readonly pool?: string | undefined;
  readonly snapname?: string | undefined;
  /** Full clones only; a linked clone stays on the storage of its template. */
  readonly storage?: string | undefined;
  readonly format?: 'raw' | 'qcow2' | 'vmdk' | undefined;
  /** By default the server makes a linked clone of a template and a full clone of any other VM. */
  readonly full?: boolean | undefined;
  readonly target?: string | undefined;
  readonly bwlimit?: number | undefined;
}

export interface MigrateParams {
  readonly target: string;
  readonly online?: boolean | undefined;
  readonly 'with-local-disks'?: boolean | undefined;
  readonly targetstorage?: string | undefined;
  readonly bwlimit?: number | undefined;
}

export interface ResizeParams {
  /** The slot, such as `scsi0`. */
  readonly disk: string;
  /** Absolute (`32G`): repeating the request is harmless, unlike `+8G`. */
  readonly size: string;
  readonly digest?: string | undefined;
}

export interface MoveDiskParams {
  readonly disk: string;
  readonly storage?: string | undefined;
  readonly format?: 'raw' | 'qcow2' | 'vmdk' | undefined;
  /** Removes the source, which otherwise stays as an unused disk. */
  readonly delete?: boolean | undefined;
  readonly digest?: string | undefined;
  /** KiB per second. */
  readonly bwlimit?: number | undefined;
  readonly 'target-vmid'?: number | undefined;
  readonly 'target-disk'?: string | undefined;
  readonly 'target-digest'?: string | undefined;
}

export class VmHandle {
  readonly node: string;
  readonly vmid: number;
  readonly config: VmConfigHandle;
  readonly status: VmStatusHandle;
  readonly agent: VmAgent;
  readonly snapshots: VmSnapshots;
  readonly cloudinit: VmCloudinit;
  readonly #scope: VmScope;

  constructor(scope: VmScope) {
    this.#scope = scope;
    this.node = scope.node;
    this.vmid = scope.vmid;
    this.config = new VmConfigHandle(scope);
    this.status = new VmStatusHandle(scope);
    this.agent = new VmAgent(scope);
    this.snapshots = new VmSnapshots(scope);
    this.cloudinit = new VmCloudinit(scope);
  }

  /** Current and pending values and the digest, in one response. */
  pending(options?: CallOptions): Promise<PendingEntry[]> {
    return this.config.pending(options);
  }

  /** The new id is ours only when this task has succeeded: Proxmox may accept two clones to the same id. */
  clone(params: CloneParams, options?: CallOptions): Promise<Upid> {
    return this.#dispatch('POST', '/clone', { ...params }, options);
  }

  /** A wrong disk, a smaller size or a stale digest shows up only when the task has ended. */
  resize(params: ResizeParams, options?: CallOptions): Promise<Upid> {
    return this.#dispatch('PUT', '/resize', { ...params }, options);
  }

  moveDisk(params: MoveDiskParams, options?: CallOptions): Promise<Upid> {
    return this.#dispatch('POST', '/move_disk', { ...params }, options);
  }

  /** Detaches disks; with `force` Proxmox also destroys their volumes. */
  unlink(
    params: { readonly idlist: readonly string[]; readonly force?: boolean | undefined },
    options?: CallOptions,
  ): Promise<void> {
    const idlist = params.idlist.join(',');
    return this.#scope.api.put(vmPath(this.#scope, '/unlink'), anything, { ...params, idlist }, options);
  }

  template(options?: CallOptions): Promise<Upid> {
    return this.#dispatch('POST', '/template', undefined, options);
  }

  migrate(params: MigrateParams, options?: CallOptions): Promise<Upid> {
    return this.#dispatch('POST', '/migrate', { ...params }, options);
  }

  /** What ties the VM to its node, and where it could go; needs VM.Migrate. */
  migratability(options?: CallOptions) {
    const shape = z.looseObject({ local_resources: maybe(z.array(z.string())) });
    return this.#scope.api.get(vmPath(this.#scope, '/migrate'), shape, {}, options);
  }

  feature(
    feature: 'snapshot' | 'clone' | 'copy',
    params: { readonly snapname?: string | undefined } = {},
    options?: CallOptions,
  ) {
    const shape = z.looseObject({ hasFeature: maybe(flag), nodes: maybe(z.array(z.string())) });
    return this.#scope.api.get(vmPath(this.#scope, '/feature'), shape, { feature, ...params }, options);
  }

  destroy(params: DestroyParams = {}, options?: CallOptions): Promise<Upid> {
    return this.#dispatch('DELETE', '', { ...params }, options);
  }

  #dispatch(method: Method, tail: string, params: FormParams | undefined, options?: CallOptions): Promise<Upid> {
    return this.#scope.api.dispatch({ method, path: vmPath(this.#scope, tail), params }, options);
  }
}

export class NodeVms {
  readonly #api: Api;
  readonly #node: string;

  constructor(api: Api, node: string) {
    this.#api = api;
    this.#node = node;
  }

  /** Read live, unlike the list of the whole cluster. Shows only VMs that the caller may see. */
  list(params: { readonly full?: boolean | undefined } = {}, options?: CallOptions): Promise<VmEntry[]> {
    return this.#api.get(apiPath`/nodes/${this.#node}/qemu`, vmEntriesSchema, { ...params }, options);
  }

  /** Proxmox takes the id before it responds; the task does the rest. */
  create(params: CreateVmParams, options?: CallOptions): Promise<Upid> {
    return this.#api.dispatch({ method: 'POST', path: apiPath`/nodes/${this.#node}/qemu`, params }, options);
  }
}
