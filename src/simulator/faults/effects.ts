/** What each kind of fault does to a request. A strike may answer the request itself, or change the world it then meets. */
import { assertNever } from '../../base/assert.ts';
import type { Instant } from '../../base/clock.ts';
import type { Runtime } from '../core/runtime.ts';
import { fillDisk, holdStorageLock, holdUserConfigLock, holdVmLock, silenceAgent } from './disturbances.ts';
import type { RequestFault, RequestInfo } from './faults.ts';
import type { FaultRule } from './rule.ts';
import { editConfig, lockVm, takeId } from './strangers.ts';
import { createdId, existingVm, nodeOf, storageOf, vmidOf } from './targets.ts';
import type { TaskRule } from './task-effects.ts';
import type { TransferRule } from './transfers.ts';

export type RequestRule = Exclude<FaultRule, TaskRule | TransferRule>;

export interface Effect {
  /** Whether this kind can do anything to the request; asked before the schedule counts it. */
  concerns(info: RequestInfo): boolean;
  strike(info: RequestInfo): RequestFault | undefined;
  /** What earlier strikes still cause. */
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

/** pvedaemon restarts: what it carries out is not reached, what pveproxy answers itself goes on. */
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

/** Right after its start a task may not be known yet; each task counts once, at its first question. */
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
