/** `/nodes/{node}/qemu`: the VMs of a node, and one of them. Building a handle calls nothing. */
import { z } from 'zod';
import type { CallOptions } from '../../../exchange.ts';
import { apiPath } from '../../../path.ts';
import type { Api } from '../../../request.ts';
import type { FormParams } from '../../../wire/form.ts';
import type { Upid } from '../../../wire/upid.ts';
import { flag, maybe, numeric, text, vmidShape } from '../../shapes.ts';
import { VmAgent } from './agent.ts';
import { type CloneParams, cloneVm, convertToTemplate, type MigrateParams, migrateVm } from './clone.ts';
import { VmCloudinit } from './cloudinit.ts';
import { type PendingEntry, VmConfigHandle } from './config.ts';
import { type MoveDiskParams, moveDisk, type ResizeParams, resizeDisk, unlinkDisks } from './disks.ts';
import { type VmScope, vmPath } from './scope.ts';
import { VmSnapshots } from './snapshot.ts';
import { VmStatusHandle } from './status.ts';

const vmEntrySchema = z.looseObject({
  vmid: vmidShape,
  status: z.string(),
  name: maybe(text),
  template: maybe(flag),
  lock: maybe(z.string()),
  tags: maybe(text),
  uptime: maybe(numeric),
  /** Bytes that the guest received and sent since its machine was started; what came in may be anybody's broadcast. */
  netin: maybe(numeric),
  netout: maybe(numeric),
  maxmem: maybe(numeric),
  maxdisk: maybe(numeric),
});
const vmEntriesSchema = z.array(vmEntrySchema);
export type VmEntry = z.output<typeof vmEntrySchema>;

/** Configuration keys and beside them `pool`, `storage`, `start` and others; drives in allocation syntax. */
export type CreateVmParams = FormParams & { readonly vmid: number };

export interface DestroyParams {
  /** Also from backup jobs, replication and HA. */
  readonly purge?: boolean | undefined;
  readonly 'destroy-unreferenced-disks'?: boolean | undefined;
  /** Despite a lock, such as the one that an interrupted destroy leaves. Only for root@pam, and not for its tokens. */
  readonly skiplock?: boolean | undefined;
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

  /** Current and pending values together with the digest, in one answer. */
  pending(options?: CallOptions): Promise<PendingEntry[]> {
    return this.config.pending(options);
  }

  clone(params: CloneParams, options?: CallOptions): Promise<Upid> {
    return cloneVm(this.#scope, params, options);
  }

  resize(params: ResizeParams, options?: CallOptions): Promise<Upid> {
    return resizeDisk(this.#scope, params, options);
  }

  moveDisk(params: MoveDiskParams, options?: CallOptions): Promise<Upid> {
    return moveDisk(this.#scope, params, options);
  }

  unlink(params: Parameters<typeof unlinkDisks>[1], options?: CallOptions): Promise<void> {
    return unlinkDisks(this.#scope, params, options);
  }

  template(options?: CallOptions): Promise<Upid> {
    return convertToTemplate(this.#scope, options);
  }

  migrate(params: MigrateParams, options?: CallOptions): Promise<Upid> {
    return migrateVm(this.#scope, params, options);
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
    return this.#scope.api.dispatch({ method: 'DELETE', path: vmPath(this.#scope), params: { ...params } }, options);
  }
}

export class NodeVms {
  readonly #api: Api;
  readonly #node: string;

  constructor(api: Api, node: string) {
    this.#api = api;
    this.#node = node;
  }

  /** Read live, unlike the list of the whole cluster; shows only what the caller may see. */
  list(params: { readonly full?: boolean | undefined } = {}, options?: CallOptions): Promise<VmEntry[]> {
    return this.#api.get(apiPath`/nodes/${this.#node}/qemu`, vmEntriesSchema, { ...params }, options);
  }

  /** The id is taken before the answer comes; the rest happens in the task. */
  create(params: CreateVmParams, options?: CallOptions): Promise<Upid> {
    return this.#api.dispatch({ method: 'POST', path: apiPath`/nodes/${this.#node}/qemu`, params }, options);
  }
}
