/**
 * A fault plan: executes rules. The same rules and the same seed always strike the same requests. Each rule can be
 * switched off and on again, and rules can be added, while the simulator runs.
 */
import type { Instant } from '../../base/clock.ts';
import { type Random, seededRandom } from '../../base/random.ts';
import type { Runtime } from '../core/runtime.ts';
import type { TaskHooks } from '../core/tasks.ts';
import { type Effect, effectOf, type RequestRule, Schedule, type TaskRule, taskEffect } from './effects.ts';
import type { Faults, RequestFault, RequestInfo } from './faults.ts';
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
  readonly at: Instant;
}

/** One rule of a plan. */
export interface FaultSwitch {
  readonly rule: FaultRule;
  readonly isOn: boolean;
  /** How often it has struck. */
  readonly strikes: number;
  /**
   * Off: it does not strike, and locks that it holds are released when their time is over. On: it counts matches from 1
   * again.
   */
  turn(isOn: boolean): void;
}

export interface FaultPlan extends Faults {
  readonly rules: readonly FaultRule[];
  /** What has struck so far, in order. */
  readonly strikes: readonly Strike[];
  /** From now on no new fault strikes; held locks are released when their time is over. */
  stop(): void;
}

/** A plan that can be changed while the simulator runs. */
export interface FaultBoard extends FaultPlan {
  readonly switches: readonly FaultSwitch[];
  /** Adds a rule after all others. */
  add(rule: FaultRuleInput): FaultSwitch;
}

/** `random` is used only for rules with a probability. */
export function ruleFaults(inputs: readonly FaultRuleInput[], random: Random = seededRandom('faults')): FaultBoard {
  const rules: FaultRule[] = [];
  const switches: WorkingRule[] = [];
  const strikes: Strike[] = [];
  let runtime: Runtime | undefined;
  let isStopped = false;
  const first = <T>(ask: (each: WorkingRule) => T | undefined): T | undefined => {
    for (const each of switches) {
      const fault = ask(each);
      if (fault) return fault;
    }
    return undefined;
  };
  const add = (input: FaultRuleInput): FaultSwitch => {
    const rule = faultRuleSchema.parse(input);
    const working = new WorkingRule(rule, random.fork(`${rules.length}:${rule.kind}`), {
      runtime: () => (isStopped ? undefined : runtime),
      onStrike: (what, at) => {
        strikes.push({ kind: rule.kind, what, at });
        runtime?.log.log('debug', `fault ${rule.kind}: ${what}`);
      },
    });
    if (runtime) working.attach(runtime);
    rules.push(rule);
    switches.push(working);
    return working;
  };
  for (const input of inputs) add(input);
  return {
    rules,
    switches,
    strikes,
    add,
    tasks: {
      beforeJob: (record) => {
        for (const { hooks } of switches) hooks?.beforeJob?.(record);
      },
      onLog: (record, line) => {
        for (const { hooks } of switches) hooks?.onLog?.(record, line);
      },
      beforeEnd: (task) => {
        for (const { hooks } of switches) hooks?.beforeEnd?.(task);
      },
    },
    attach: (attached) => {
      runtime = attached;
      for (const each of switches) each.attach(attached);
    },
    onRequest: (info) => first((each) => each.onRequest(info)),
    onUpload: (info) => first(({ transfers }) => transfers?.onUpload?.(info)),
    onDownload: (info) => first(({ transfers }) => transfers?.onDownload?.(info)),
    stop: () => {
      isStopped = true;
    },
  };
}

interface RuleContext {
  /** Undefined while nothing may strike. */
  runtime(): Runtime | undefined;
  onStrike(what: string, at: Instant): void;
}

const isTaskRule = (rule: FaultRule): rule is TaskRule => isTaskKind(rule.kind);
const isTransferRule = (rule: FaultRule): rule is TransferRule => isTransferKind(rule.kind);
const isRequestRule = (rule: FaultRule): rule is RequestRule => !isTaskRule(rule) && !isTransferRule(rule);

class WorkingRule implements FaultSwitch {
  readonly rule: FaultRule;
  isOn = true;
  strikes = 0;
  /** Of a rule for tasks. */
  readonly hooks: TaskHooks | undefined;
  /** Of a rule for files on their way. */
  readonly transfers: Pick<Faults, 'onUpload' | 'onDownload'> | undefined;
  readonly #random: Random;
  readonly #context: RuleContext;
  readonly #matches: (info: RequestInfo) => boolean;
  #schedule: Schedule;
  #effect: Effect | undefined;

  constructor(rule: FaultRule, random: Random, context: RuleContext) {
    this.rule = rule;
    this.#random = random;
    this.#context = context;
    this.#schedule = new Schedule(rule, random);
    this.#matches = requestMatcher(rule.match);
    if (isTaskRule(rule)) this.hooks = taskEffect(rule, (upid) => this.#strikes(upid));
    if (isTransferRule(rule)) {
      this.transfers = transferFaults(rule, ({ method, path }) => this.#strikes(`${method} ${path}`));
    }
  }

  attach(runtime: Runtime): void {
    if (isRequestRule(this.rule)) this.#effect = effectOf(this.rule, runtime);
  }

  turn(isOn: boolean): void {
    if (isOn && !this.isOn) this.#schedule = new Schedule(this.rule, this.#random);
    this.isOn = isOn;
  }

  onRequest(info: RequestInfo): RequestFault | undefined {
    const effect = this.#effect;
    if (!effect || !this.isOn || !this.#context.runtime()) return undefined;
    const lasting = effect.lasting?.(info);
    if (lasting) return lasting;
    if (!this.#matches(info) || !effect.concerns(info)) return undefined;
    return this.#strikes(`${info.method} ${info.path}`) ? effect.strike(info) : undefined;
  }

  /** Call it once per match. */
  #strikes(what: string): boolean {
    const runtime = this.#context.runtime();
    if (!runtime || !this.isOn) return false;
    const now = runtime.clock.now();
    if (!this.#schedule.strikes(now)) return false;
    this.strikes++;
    this.#context.onStrike(what, now);
    return true;
  }
}

/** Faults drawn from a seed, for tests that use all kinds: every seed leaves out some of them. */
export function seededFaults(random: Random, options: SeededOptions = {}): FaultBoard {
  return ruleFaults(seededRules(random, options), random.fork('strikes'));
}
