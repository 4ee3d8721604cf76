/**
 * Test benches: the recorded world on a virtual clock. `TestBench` adds VMs and calls routes; `ConfigBench` changes
 * configurations through the API's own handlers.
 */
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VIRTUAL_START, VirtualClock } from '../../base/virtual-clock.ts';
import type { Call } from '../core/call.ts';
import { LockTable } from '../core/locks.ts';
import type { Runtime } from '../core/runtime.ts';
import { type Job, TaskRunner } from '../core/tasks.ts';
import type { RawParams } from '../schema/types.ts';
import { allocateVolume } from '../storage/allocate.ts';
import { findVolume, volidOf } from '../storage/volumes.ts';
import { createVm, emptyDraft, writtenConfig } from '../vm/config/config-file.ts';
import { startVm } from '../vm/power/power.ts';
import { suspendProcess } from '../vm/power/suspend.ts';
import { buildWorld } from '../world/build-world.ts';
import { RECORDED_WORLD } from '../world/recorded-world.ts';
import { NEWEST_RELEASE } from '../world/releases.ts';
import type { Storage, TaskRecord, Vm, VolumeFormat } from '../world/world.ts';
import { refuseRequest } from './access.ts';
import { answerOf } from './answer.ts';

interface BenchOptions {
  readonly qemuPatched?: boolean;
  /** A release of Proxmox VE; the newest one by default. */
  readonly version?: string;
}

export interface CallOptions {
  readonly authid?: string;
  /** What the caller may do; everything by default. */
  readonly may?: (path: string, privilege: string) => boolean;
}

export class TestBench {
  readonly clock = new VirtualClock();
  readonly runtime: Runtime;
  readonly node = 'pve1';

  /** QEMU has Proxmox's patches, unlike in the recorded world, unless a test needs them to be missing. */
  constructor(seed = 'test', options: BenchOptions = {}) {
    const { clock } = this;
    const version = { version: options.version ?? NEWEST_RELEASE, qemu_patched: options.qemuPatched ?? true };
    const world = buildWorld({ ...RECORDED_WORLD, version }, { now: VIRTUAL_START, file: 'recorded' });
    const random = seededRandom(seed);
    this.runtime = {
      world,
      clock,
      random,
      locks: new LockTable(clock),
      tasks: new TaskRunner(world, clock, random.fork('tasks'), {}),
      log: silentLogger,
    };
  }

  addVm(vmid: number, config: Readonly<Record<string, string>>): Vm {
    const draft = { ...emptyDraft(), current: new Map(Object.entries(config)) };
    return createVm(this.runtime, this.node, vmid, writtenConfig(draft));
  }

  /** Runs a job as a worker and returns its record once it has ended. */
  async task(job: Job, type = 'test', user = 'root@pam'): Promise<TaskRecord> {
    const upid = this.runtime.tasks.fork(this.node, type, '', user, job);
    await this.clock.run(() => this.runtime.tasks.ended(upid));
    const record = this.runtime.world.tasks.get(upid);
    if (!record) throw new Error(`${upid} is not on record`);
    return record;
  }

  /** Calls the handler of a route and runs the clock until it has answered. */
  ask(route: string, params: RawParams, options: CallOptions = {}): Promise<unknown> {
    return this.clock.run(() => answerOf(route, this.call(options), params));
  }

  /** The log of the task that the route starts, once it has ended. */
  async performed(route: string, params: RawParams, options: CallOptions = {}): Promise<readonly string[]> {
    const upid = String(await this.ask(route, params, options));
    await this.clock.run(() => this.runtime.tasks.ended(upid));
    return this.runtime.world.tasks.get(upid)?.log ?? [];
  }

  call(options: CallOptions = {}): Call {
    const authid = options.authid ?? 'root@pam';
    const may = options.may ?? (() => true);
    const allowed: Call['may'] = (path, privileges, { any = false } = {}) =>
      any
        ? privileges.some((privilege) => may(path, privilege))
        : privileges.every((privilege) => may(path, privilege));
    return {
      runtime: this.runtime,
      params: {},
      texts: {},
      node: this.node,
      caller: {
        userid: authid.split('!')[0] ?? authid,
        tokenid: authid.split('!')[1],
        authid,
        isRoot: authid === 'root@pam',
      },
      may: allowed,
      require: (path, privileges, any) => {
        if (!allowed(path, privileges, any)) throw new Error(`403 ${path}, ${privileges.join('|')}`);
      },
      request: refuseRequest,
      fork: (type, id, job) => this.runtime.tasks.fork(this.node, type, id, authid, job),
    };
  }
}

/** A disk in the recorded world with a Debian that answers through its agent. */
export const DEBIAN_DISK = 'local:9100/base-9100-disk-0.qcow2,size=2500M';

const CONFIG = '/nodes/{node}/qemu/{vmid}/config';

interface PendingView {
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

  /** The time of the guest and its firmware stops. */
  pause(vmid: number): void {
    const process = this.runtime.world.vms.get(vmid)?.process;
    if (process) suspendProcess(this.runtime, process, 'paused');
  }
}
