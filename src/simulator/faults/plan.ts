/** A fault plan: rules put to work. The same rules and the same seed strike the same requests, every time. */
import { type Random, seededRandom } from '../../base/random.ts';
import type { Runtime } from '../core/runtime.ts';
import { type Effect, effectOf, type RequestRule, Schedule, type TaskRule, taskEffect } from './effects.ts';
import { combineFaults, type Faults, type RequestFault, type RequestInfo } from './faults.ts';
import {
  type FaultKind,
  type FaultRule,
  type FaultRuleInput,
  faultRuleSchema,
  isTaskKind,
  isTransferKind,
  requestMatcher,
} from './rule.ts';
import { type SeededOptions, seededRules } from './seeded.ts';
import { type TransferRule, transferFaults } from './transfers.ts';

export interface Strike {
  readonly kind: FaultKind;
  /** Method and path of the request, or the UPID of the task. */
  readonly what: string;
}

export interface FaultPlan extends Faults {
  readonly rules: readonly FaultRule[];
  /** What has struck so far, in order. */
  readonly strikes: readonly Strike[];
  /** From now on no new fault strikes; locks that are held are released when their time is up. */
  stop(): void;
}

const isRequestRule = (rule: FaultRule): rule is RequestRule => !isTaskKind(rule.kind) && !isTransferKind(rule.kind);

/** `random` decides only where a rule has a probability. */
export function ruleFaults(inputs: readonly FaultRuleInput[], random: Random = seededRandom('faults')): FaultPlan {
  const rules = inputs.map((input) => faultRuleSchema.parse(input));
  const strikes: Strike[] = [];
  let runtime: Runtime | undefined;
  let isStopped = false;
  const report = (kind: FaultKind, what: string) => {
    strikes.push({ kind, what });
    runtime?.log.log('debug', `fault ${kind}: ${what}`);
  };
  const requests: { kind: FaultKind; matches: (info: RequestInfo) => boolean; schedule: Schedule; effect: Effect }[] =
    [];
  const schedules = new Map(
    rules.map((rule, index) => [rule, new Schedule(rule, random.fork(`${index}:${rule.kind}`))]),
  );
  const scheduleOf = (rule: FaultRule) => schedules.get(rule) ?? new Schedule(rule, random);
  const context = {
    isActive: () => !isStopped && runtime !== undefined,
    clock: () => (runtime as Runtime).clock, // asked only while active
  };
  const tasks = rules
    .filter((rule): rule is TaskRule => isTaskKind(rule.kind))
    .map((rule) => taskEffect(rule, scheduleOf(rule), { ...context, onStrike: (upid) => report(rule.kind, upid) }));
  const transfers = transferFaults(
    rules.filter((rule): rule is TransferRule => isTransferKind(rule.kind)),
    (rule, info) => {
      const isStruck = context.isActive() && scheduleOf(rule).strikes(context.clock().now());
      if (isStruck) report(rule.kind, `${info.method} ${info.path}`);
      return isStruck;
    },
  );
  return {
    ...transfers,
    rules,
    strikes,
    tasks: combineFaults(...tasks.map((hooks): Faults => ({ tasks: hooks, onRequest: () => undefined }))).tasks,
    attach: (attached) => {
      runtime = attached;
      for (const rule of rules) {
        if (!isRequestRule(rule)) continue;
        const [matches, effect] = [requestMatcher(rule.match), effectOf(rule, attached)];
        requests.push({ kind: rule.kind, matches, schedule: scheduleOf(rule), effect });
      }
    },
    onRequest: (info): RequestFault | undefined => {
      if (isStopped || !runtime) return undefined;
      for (const { kind, matches, schedule, effect } of requests) {
        const lasting = effect.lasting?.(info);
        if (lasting) return lasting;
        if (!matches(info) || !effect.concerns(info) || !schedule.strikes(runtime.clock.now())) continue;
        report(kind, `${info.method} ${info.path}`);
        const fault = effect.strike(info);
        if (fault) return fault;
      }
      return undefined;
    },
    stop: () => {
      isStopped = true;
    },
  };
}

/** Trouble drawn from a seed, for tests that want all of it: every seed leaves out other kinds. */
export function seededFaults(random: Random, options: SeededOptions = {}): FaultPlan {
  return ruleFaults(seededRules(random, options), random.fork('strikes'));
}
