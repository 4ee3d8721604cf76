/** Tasks that fail or warn: the part of a plan that the task runner asks. */
import type { Clock } from '../../base/clock.ts';
import type { TaskHooks } from '../core/tasks.ts';
import { dieFault } from '../http/response.ts';
import { taskMatcher } from './match.ts';
import type { FaultRule } from './rule.ts';
import type { Schedule } from './schedule.ts';

export type TaskRule = Extract<FaultRule, { readonly kind: 'task-fail' | 'task-warn' }>;

/** `transferred 1.2 GiB of 4.0 GiB (30.00%)`, and wget's ` 32768K ........ 42%  410M 3s`. */
const PROGRESS = /\((\d+(?:\.\d+)?)%\)|^ *\d+K[ .,]* *(\d+)%/;

/** Whether a task is struck is decided when it begins; `clock` is known only once the simulator is put together. */
export function taskEffect(
  rule: TaskRule,
  schedule: Schedule,
  context: { readonly isActive: () => boolean; readonly clock: () => Clock; readonly onStrike: (what: string) => void },
): TaskHooks {
  const matches = taskMatcher(rule.match);
  const struck = new Set<string>();
  const end = (upid: string): void => {
    if (rule.kind === 'task-fail' && struck.delete(upid)) throw dieFault(rule.message);
  };
  return {
    beforeJob: ({ upid, type }) => {
      if (!context.isActive() || !matches(type) || !schedule.strikes(context.clock().now())) return;
      context.onStrike(upid);
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
