/**
 * What each kind of fault does. A strike answers a request itself, changes the world that the request then meets, or makes
 * a task fail; `Schedule` decides which matches of a rule strike.
 */

import type { Instant } from '../../base/clock.ts';
import { assertNever } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { Runtime } from '../core/runtime.ts';
import type { TaskHooks } from '../core/tasks.ts';
import { dieFault } from '../http/response.ts';
import { createdId, existingVm, nodeOf, type RequestFault, type RequestInfo, storageOf, vmidOf } from './faults.ts';
import { type FaultRule, taskMatcher } from './rule.ts';
import {
  editConfig,
  fillDisk,
  holdStorageLock,
  holdUserConfigLock,
  holdVmLock,
  lockVm,
  silenceAgent,
  takeId,
} from './strangers.ts';
import type { TransferRule } from './transfers.ts';

export type RequestRule = Exclude<FaultRule, TaskRule | TransferRule>;

export interface Effect {
  /** Whether this kind can affect the request; called before the schedule counts it. */
  concerns(info: RequestInfo): boolean;
  strike(info: RequestInfo): RequestFault | undefined;
  /** Continuing effects of earlier strikes. */
  lasting?(info: RequestInfo): RequestFault | undefined;
}

export function effectOf(rule: RequestRule, runtime: Runtime): Effect {
  switch (rule.kind) {
    case 'cut-before':
    case 'cut-after':
    case 'proxy-timeout':
      return answering({ kind: rule.kind });
    case 'unreachable':
      return answering({ kind: 'not-executed', reason: rule.reason });
    case 'refuse':
      return answering({ kind: 'refuse', status: rule.status, message: rule.message });
    case 'daemon-down':
      return daemonDown(runtime, rule.for_ms);
    case 'ticket-expired':
      return ticketExpired();
    case 'task-unknown':
      return taskUnknown(runtime, rule.for_ms);
    case 'agent-silent':
      return disturbing(isAgentCall, (info) => {
        const vm = existingVm(runtime, info);
        if (vm) silenceAgent(runtime, vm, rule.for_ms);
      });
    case 'lock':
      return disturbing(isVmChange, (info) =>
        holdVmLock(runtime, nodeOf(runtime, info), vmidOf(info) ?? 0, rule.for_ms),
      );
    case 'storage-lock':
      return disturbing(isChange, (info) => {
        const storage = rule.storage ?? storageOf(info);
        if (storage !== undefined) holdStorageLock(runtime, nodeOf(runtime, info), storage, rule.for_ms);
      });
    case 'users-lock':
      return disturbing(isChange, () => holdUserConfigLock(runtime, rule.for_ms));
    case 'disk-full':
      return disturbing(isChange, (info) =>
        fillDisk(runtime, nodeOf(runtime, info), rule.storage ?? storageOf(info), rule.for_ms),
      );
    case 'stranger-edit':
      return onVm(runtime, (vm) => editConfig(runtime, vm, rule.set));
    case 'stranger-lock':
      return onVm(runtime, (vm) => lockVm(runtime, vm, rule.lock, rule.for_ms));
    case 'stranger-id':
      return disturbing(
        (info) => createdId(info) !== undefined,
        (info) => takeId(runtime, nodeOf(runtime, info), createdId(info) ?? 0),
      );
    default:
      return assertNever(rule);
  }
}

function answering(fault: RequestFault): Effect {
  return { concerns: () => true, strike: () => fault };
}

function disturbing(concerns: Effect['concerns'], disturb: (info: RequestInfo) => void): Effect {
  return {
    concerns,
    strike: (info) => {
      disturb(info);
      return undefined;
    },
  };
}

function onVm(runtime: Runtime, act: (vm: NonNullable<ReturnType<typeof existingVm>>) => void): Effect {
  return disturbing(
    (info) => isVmChange(info) && existingVm(runtime, info) !== undefined,
    (info) => {
      const vm = existingVm(runtime, info);
      if (vm) act(vm);
    },
  );
}

const isChange = (info: RequestInfo) => info.method !== 'GET';
const isAgentCall = (info: RequestInfo) => /^\/nodes\/[^/]+\/qemu\/\d+\/agent/.test(info.path);
const isVmChange = (info: RequestInfo) => isChange(info) && !isAgentCall(info) && vmidOf(info) !== undefined;

/** pvedaemon restarts: its calls fail, while pveproxy's own answers still work. */
function daemonDown(runtime: Runtime, forMs: number): Effect {
  let downUntil: Instant = Number.NEGATIVE_INFINITY;
  const refused = (info: RequestInfo): RequestFault | undefined =>
    info.isProtected ? { kind: 'not-executed', reason: 'Connection refused' } : undefined;
  return {
    concerns: () => true,
    strike: (info) => {
      downUntil = runtime.clock.now() + forMs;
      return refused(info);
    },
    lasting: (info) => (runtime.clock.now() < downUntil ? refused(info) : undefined),
  };
}

/** A ticket that was refused stays refused: only a new login helps. */
function ticketExpired(): Effect {
  const expired = new Set<string>();
  return {
    concerns: (info) => info.ticket !== undefined,
    strike: (info) => {
      if (info.ticket !== undefined) expired.add(info.ticket);
      return { kind: 'login-refused' };
    },
    lasting: (info) => (info.ticket !== undefined && expired.has(info.ticket) ? { kind: 'login-refused' } : undefined),
  };
}

const TASK_STATUS = /^\/nodes\/[^/]+\/tasks\/([^/]+)\/status$/;

/** Right after its start a task may be unknown; each task counts once, at its first status request. */
function taskUnknown(runtime: Runtime, forMs: number): Effect {
  const asked = new Set<string>();
  const hiddenUntil = new Map<string, Instant>();
  const noSuchTask: RequestFault = {
    kind: 'refuse',
    status: 400,
    message: 'Parameter verification failed.',
    errors: { upid: 'no such task' },
  };
  const upidOf = (info: RequestInfo) => TASK_STATUS.exec(info.path)?.[1] ?? '';
  const isHidden = (upid: string) => runtime.clock.now() < (hiddenUntil.get(upid) ?? Number.NEGATIVE_INFINITY);
  return {
    concerns: (info) => {
      const upid = upidOf(info);
      if (asked.has(upid) || !runtime.world.tasks.has(upid)) return false;
      asked.add(upid);
      return true;
    },
    strike: (info) => {
      const upid = upidOf(info);
      hiddenUntil.set(upid, (runtime.world.tasks.get(upid)?.startedAt ?? 0) + forMs);
      return isHidden(upid) ? noSuchTask : undefined;
    },
    lasting: (info) => (isHidden(upidOf(info)) ? noSuchTask : undefined),
  };
}

export type TaskRule = Extract<FaultRule, { readonly kind: 'task-fail' | 'task-warn' }>;

/** `transferred 1.2 GiB of 4.0 GiB (30.00%)`, and wget's ` 32768K ........ 42%  410M 3s`. */
const PROGRESS = /\((\d+(?:\.\d+)?)%\)|^ *\d+K[ .,]* *(\d+)%/;

/** Decided when a task begins: `strikes` is called once for each task that the rule matches. */
export function taskEffect(rule: TaskRule, strikes: (upid: string) => boolean): TaskHooks {
  const matches = taskMatcher(rule.match);
  const struck = new Set<string>();
  const end = (upid: string): void => {
    if (rule.kind === 'task-fail' && struck.delete(upid)) throw dieFault(rule.message);
  };
  return {
    beforeJob: ({ upid, type }) => {
      if (!matches(type) || !strikes(upid)) return;
      struck.add(upid);
      if (rule.kind === 'task-fail' && rule.percent === 0) end(upid);
    },
    onLog: ({ upid }, line) => {
      if (rule.kind !== 'task-fail' || !struck.has(upid)) return;
      const [, copied, downloaded] = PROGRESS.exec(line) ?? [];
      const percent = copied ?? downloaded;
      // 100 means: only after everything is done, which is more than the last line of a copy.
      if (percent !== undefined && rule.percent < 100 && Number(percent) >= rule.percent) end(upid);
    },
    beforeEnd: (task) => {
      if (rule.kind === 'task-warn' && struck.delete(task.record.upid)) task.warn(rule.message);
      end(task.record.upid);
    },
  };
}

export class Schedule {
  readonly #rule: FaultRule;
  readonly #random: Random;
  #matches = 0;
  #strikes = 0;
  #nextAt: Instant | undefined;

  constructor(rule: FaultRule, random: Random) {
    this.#rule = rule;
    this.#random = random;
  }

  /** Call it once per match. */
  strikes(now: Instant): boolean {
    this.#matches++;
    const isDue = this.#isDue(now) && this.#strikes < this.#most();
    if (isDue) this.#strikes++;
    return isDue;
  }

  #most(): number {
    return this.#rule.times ?? (this.#rule.at === undefined ? Number.POSITIVE_INFINITY : 1);
  }

  #isDue(now: Instant): boolean {
    const { at, every, every_ms: periodMs, probability } = this.#rule;
    if (at !== undefined) return this.#matches >= at;
    if (every !== undefined) return this.#matches % every === 0;
    if (probability !== undefined) return this.#random.next() < probability;
    if (periodMs !== undefined) {
      // Checked on events, not by a timer: an endless timer would hide a stalled program.
      if (this.#nextAt !== undefined && now < this.#nextAt) return false;
      this.#nextAt = now + periodMs;
    }
    return true;
  }
}
