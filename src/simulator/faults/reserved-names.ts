/**
 * Names that always fail on purpose: to see a failure in a demo or a test, choose one. A clone named
 * `fail-clone-…` breaks off in the middle of its copy; a VM named `locked-…` is being backed up whenever a client wants to
 * change it, until it is deleted.
 */
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import type { TaskRecord } from '../world/world.ts';
import { createdId, existingVm, type Faults, type RequestInfo } from './faults.ts';
import { lockVm, unlockVm } from './strangers.ts';

const FAILING_CLONE = /^fail-clone-/;
const LOCKED = /^locked-/;
const LOCK = 'backup';

export function reservedNames(): Faults {
  let runtime: Runtime | undefined;
  const failingIds = new Set<number>();
  const failingTasks = new Set<string>();
  const note = ({ type, target, upid }: TaskRecord): void => {
    if (type === 'qmclone' && target !== undefined && failingIds.delete(target)) failingTasks.add(upid);
  };
  const fail = ({ upid }: TaskRecord): void => {
    if (failingTasks.delete(upid)) throw dieFault('this name fails on purpose');
  };
  return {
    attach: (attached) => {
      runtime = attached;
    },
    tasks: {
      onLog: (record, line) => {
        note(record);
        if (/^create (?:full|linked) clone of drive/.test(line)) fail(record);
      },
      beforeEnd: ({ record }) => {
        note(record);
        fail(record);
      },
    },
    onRequest: (info) => {
      const newid = createdId(info);
      if (newid !== undefined && info.path.endsWith('/clone') && FAILING_CLONE.test(String(info.params.name ?? ''))) {
        failingIds.add(newid);
      }
      if (runtime && info.method !== 'GET') keepLocked(runtime, info);
      return undefined;
    },
  };
}

function keepLocked(runtime: Runtime, info: RequestInfo): void {
  const vm = existingVm(runtime, info);
  if (!vm || !LOCKED.test(vm.config.current.get('name') ?? '') || info.path.includes('/agent')) return;
  if (info.method === 'DELETE') unlockVm(runtime, vm, LOCK);
  else lockVm(runtime, vm, LOCK);
}
