/** The trouble of a storm as a list, drawn from its seed: faults, each with a stream of chance of its own, and kills. */
import { type Random, seededRandom } from '../../../../src/base/random.ts';
import { seededRules } from '../../../../src/simulator/faults/seeded.ts';
import {
  combineFaults,
  type FaultPlan,
  type FaultRuleInput,
  ruleFaults,
  type Strike,
} from '../../../../src/simulator/index.ts';

export type Trouble =
  | { readonly kind: 'fault'; readonly rule: FaultRuleInput }
  /** The run of this number dies at this point. */
  | { readonly kind: 'kill'; readonly run: number; readonly at: number };

const RUNS = 4;

export function troublesOf(seed: number): readonly Trouble[] {
  const random = seededRandom(`storm ${seed}`);
  const kills = Array.from({ length: RUNS }, (_, index) => index + 1).flatMap((run): Trouble[] => {
    const own = random.fork(`kill ${run}`);
    return own.next() < 0.3 ? [{ kind: 'kill', run, at: 1 + Math.floor(own.next() * 300) }] : [];
  });
  return [...seededRules(random.fork('faults')).map((rule) => ({ kind: 'fault', rule }) as const), ...kills];
}

/** What to leave out does not change when the others strike, as long as they meet the same requests. */
export function faultsOf(troubles: readonly Trouble[], random: Random): FaultPlan {
  const strikes: Strike[] = [];
  const plans = troubles.flatMap((trouble) =>
    trouble.kind === 'fault' ? [ruleFaults([trouble.rule], random.fork(trouble.rule.kind))] : [],
  );
  const all = combineFaults(...plans);
  const noting = <T>(work: () => T): T => {
    const before = plans.map((plan) => plan.strikes.length);
    const result = work();
    for (const [index, plan] of plans.entries()) strikes.push(...plan.strikes.slice(before[index]));
    return result;
  };
  return {
    ...all,
    tasks: {
      ...all.tasks,
      beforeJob: (record) => noting(() => all.tasks.beforeJob?.(record)),
      onLog: (record, line) => noting(() => all.tasks.onLog?.(record, line)),
      beforeEnd: (task) => noting(() => all.tasks.beforeEnd?.(task)),
    },
    onRequest: (info) => noting(() => all.onRequest(info)),
    rules: plans.flatMap(({ rules }) => rules),
    strikes,
    stop: () => {
      for (const plan of plans) plan.stop();
    },
  };
}

export function killAt(troubles: readonly Trouble[], run: number): number | undefined {
  return troubles.flatMap((each) => (each.kind === 'kill' && each.run === run ? [each.at] : []))[0];
}

/** The same trouble, once less often. */
export function weaker(trouble: Trouble): Trouble | undefined {
  if (trouble.kind === 'kill' || trouble.rule.times === undefined || trouble.rule.times <= 1) return undefined;
  return { kind: 'fault', rule: { ...trouble.rule, times: trouble.rule.times - 1 } };
}

/** `lock*3`: up to three times; `kill@2`: the second run is killed. */
export function printTrouble(trouble: Trouble): string {
  return trouble.kind === 'kill' ? `kill@${trouble.run}` : `${trouble.rule.kind}*${trouble.rule.times ?? 1}`;
}

/** Those of a seed that are named, as often as is said. */
export function chosenTroubles(seed: number, text: string): readonly Trouble[] {
  const all = troublesOf(seed);
  return text
    .split(',')
    .filter((name) => name !== '')
    .map((name) => {
      const [kind, times] = name.split('*');
      const found = all.find((each) => (each.kind === 'kill' ? printTrouble(each) : each.rule.kind) === kind);
      if (!found) throw new Error(`seed ${seed} has no ${name}; it has ${all.map(printTrouble).join(', ')}`);
      if (found.kind === 'kill' || times === undefined) return found;
      return { kind: 'fault', rule: { ...found.rule, times: Number(times) } };
    });
}
