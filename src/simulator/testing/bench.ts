/** A recorded world on a virtual clock with one VM more, for the tests of power, guests and views. */
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { VIRTUAL_START, VirtualClock } from '../../base/virtual-clock.ts';
import type { Call } from '../core/call.ts';
import { LockTable } from '../core/locks.ts';
import type { Runtime } from '../core/runtime.ts';
import { type Job, TaskRunner } from '../core/tasks.ts';
import type { RawParams } from '../schema/types.ts';
import { createVm, emptyDraft, writtenConfig } from '../vm/config-file.ts';
import { buildWorld } from '../world/build-world.ts';
import { RECORDED_WORLD } from '../world/recorded-world.ts';
import { NEWEST_RELEASE } from '../world/releases.ts';
import type { TaskRecord, Vm } from '../world/world.ts';
import { answerOf } from './answer.ts';

export interface BenchOptions {
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

  /** QEMU has Proxmox's patches, unlike where the world was recorded, unless a test wants to see what is missing. */
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
      fork: (type, id, job) => this.runtime.tasks.fork(this.node, type, id, authid, job),
    };
  }
}

/** A disk in the recorded world with a Debian that answers through its agent. */
export const DEBIAN_DISK = 'local:9100/base-9100-disk-0.qcow2,size=2500M';
