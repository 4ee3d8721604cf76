/** A test bench that changes configurations through the API's own handlers. */
import type { RawParams } from '../schema/types.ts';
import { allocateVolume } from '../storage/allocate.ts';
import { findVolume, volidOf } from '../storage/volumes.ts';
import { startVm } from '../vm/power.ts';
import { suspendProcess } from '../vm/suspend.ts';
import type { Storage, VolumeFormat } from '../world/world.ts';
import { type CallOptions, TestBench } from './bench.ts';

const CONFIG = '/nodes/{node}/qemu/{vmid}/config';

export interface PendingView {
  readonly key: string;
  readonly value?: string | number;
  readonly pending?: string | number;
  readonly delete?: number;
}

export class ConfigBench extends TestBench {
  put(vmid: number, params: RawParams, options: CallOptions = {}): Promise<unknown> {
    return this.ask(`PUT ${CONFIG}`, { vmid, ...params }, options);
  }

  /** The log of a change made as a task. */
  async post(vmid: number, params: RawParams): Promise<readonly string[]> {
    return this.performed(`POST ${CONFIG}`, { vmid, ...params });
  }

  async config(vmid: number, params: RawParams = {}): Promise<Record<string, unknown>> {
    const { digest: _, ...config } = (await this.ask(`GET ${CONFIG}`, { vmid, ...params })) as Record<string, unknown>;
    return config;
  }

  /** The entries of …/pending that are pending. */
  async pending(vmid: number): Promise<PendingView[]> {
    const entries = await this.ask('GET /nodes/{node}/qemu/{vmid}/pending', { vmid });
    return (entries as PendingView[])
      .filter((entry) => entry.pending !== undefined || entry.delete !== undefined)
      .sort((a, b) => a.key.localeCompare(b.key));
  }

  async disk(vmid: number, options: { storage?: string; format?: VolumeFormat; name?: string } = {}): Promise<string> {
    const { runtime, node } = this;
    const { storage: storageId = 'local', format = 'raw', name } = options;
    const input = { node, storageId, vmid, format, sizeKiB: 4096, log: () => {}, ...(name && { name }) };
    return volidOf(await this.clock.run(() => allocateVolume(runtime, input)));
  }

  exists(volid: string): boolean {
    return findVolume(this.runtime.world, this.node, volid) !== undefined;
  }

  async start(vmid: number): Promise<void> {
    const { runtime, node } = this;
    const { exitStatus } = await this.task((task) => startVm(runtime, { node, vmid, task }));
    if (!runtime.world.vms.get(vmid)?.process) throw new Error(`VM ${vmid} does not run: ${exitStatus}`);
  }

  /** A storage of thin volumes, which have extents of 4 MiB and one format. */
  addThinStorage(id: string): void {
    const local = this.runtime.world.storages.get('local');
    if (!local) throw new Error('the recorded world has no storage called local');
    const options = new Map([
      ['vgname', 'pve'],
      ['thinpool', 'data'],
    ]);
    const thin: Storage = { ...local, id, type: 'lvmthin', path: undefined, options, volumes: new Map() };
    this.runtime.world.storages.set(id, thin);
  }

  /** The guest's time stands still, its firmware's too. */
  pause(vmid: number): void {
    const process = this.runtime.world.vms.get(vmid)?.process;
    if (process) suspendProcess(this.runtime, process, 'paused');
  }
}
