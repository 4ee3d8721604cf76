/**
 * Rules on the command line, separated by commas:
 *
 *     kind[=argument][:[METHOD ]pattern][@when[xTIMES]][~duration]
 *     lock:qemu/100/config@2x3        cut-after:POST clone@1        task-fail=40:qmclone@10%        disk-full=local~30s
 *
 * `when` is a number (the n-th match), `/n` (every n-th), `n%` (by chance) or a duration (at most once in it). The pattern
 * is the end of a path; for tasks it is their type.
 */

import { ProxwrightError } from '../../base/errors.ts';
import { closest } from '../../base/text/closest.ts';
import { ALL_FAULT_KINDS, type FaultRule, faultRuleSchema, isTaskKind } from './rule.ts';

const FORM =
  /^(?<kind>[a-z-]+)(?:=(?<argument>[^:@~]+))?(?::(?<pattern>[^@~]+))?(?:@(?<when>[^x~]+)(?:x(?<times>\d+))?)?(?:~(?<duration>\S+))?$/;
const DURATION = /^(\d+)(ms|s|m)$/;
const UNIT_MS = { ms: 1, s: 1_000, m: 60_000 } as const;

/** The field that the argument after `=` sets, for the kinds that take one. */
const ARGUMENTS: Readonly<Record<string, { readonly field: string; readonly isNumber: boolean }>> = {
  refuse: { field: 'status', isNumber: true },
  'task-fail': { field: 'percent', isNumber: true },
  'storage-lock': { field: 'storage', isNumber: false },
  'disk-full': { field: 'storage', isNumber: false },
  'download-fail': { field: 'how', isNumber: false },
  'download-stall': { field: 'percent', isNumber: true },
  'upload-cut': { field: 'percent', isNumber: true },
  'upload-stall': { field: 'percent', isNumber: true },
  'stranger-lock': { field: 'lock', isNumber: false },
};

export function parseShortForm(text: string): FaultRule[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(parseRule);
}

function parseRule(text: string): FaultRule {
  const groups = FORM.exec(text)?.groups;
  if (!groups) throw badRule(text, 'does not have the form kind[=argument][:pattern][@when[xTIMES]][~duration]');
  const { kind = '', argument, pattern, when, times, duration } = groups;
  if (!ALL_FAULT_KINDS.some((known) => known === kind)) {
    const guess = closest(kind, ALL_FAULT_KINDS);
    const hint = guess === undefined ? `Known kinds: ${ALL_FAULT_KINDS.join(', ')}.` : `Did you mean "${guess}"?`;
    throw badRule(text, `names no kind of fault: "${kind}"`, hint);
  }
  const parsed = faultRuleSchema.safeParse({
    kind,
    ...(argument !== undefined && argumentField(text, kind, argument)),
    ...(pattern !== undefined && { match: matchFields(kind, pattern) }),
    ...(when !== undefined && whenField(text, when)),
    ...(times !== undefined && { times: Number(times) }),
    ...(duration !== undefined && { for_ms: durationMs(duration) ?? durationComplaint(text, duration) }),
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw badRule(text, `is not possible: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`.trim());
}

/** The rule in the short form. A file of rules can express more: this omits error messages and values of an edit. */
export function printShortForm(rule: FaultRule): string {
  const { kind, match, at, every, every_ms: everyMs, probability, times } = rule;
  const fields: Readonly<Record<string, unknown>> = rule;
  const { field } = ARGUMENTS[kind] ?? {};
  const argument = field === undefined ? undefined : fields[field];
  const pattern = match.task ?? [match.method, match.path].filter((part) => part !== undefined).join(' ');
  const whens = [
    at !== undefined && `${at}`,
    every !== undefined && `/${every}`,
    probability !== undefined && `${Math.round(probability * 10_000) / 100}%`,
    everyMs !== undefined && printMs(everyMs),
    // A rule with times alone strikes at its first matches.
    times !== undefined && '1',
  ];
  const when = whens.find((each) => each !== false);
  return [
    kind,
    argument !== undefined && `=${argument}`,
    pattern !== '' && `:${pattern}`,
    when !== undefined && `@${when}`,
    times !== undefined && `x${times}`,
    typeof fields.for_ms === 'number' && `~${printMs(fields.for_ms)}`,
  ]
    .filter((part) => part !== false)
    .join('');
}

function printMs(ms: number): string {
  if (ms % UNIT_MS.m === 0) return `${ms / UNIT_MS.m}m`;
  return ms % UNIT_MS.s === 0 ? `${ms / UNIT_MS.s}s` : `${ms}ms`;
}

function argumentField(text: string, kind: string, argument: string): Record<string, unknown> {
  const known = ARGUMENTS[kind];
  if (!known) throw badRule(text, `gives an argument ("${argument}") to "${kind}", which takes none`);
  return { [known.field]: known.isNumber ? Number(argument) : argument };
}

function matchFields(kind: string, pattern: string): Record<string, string> {
  if (isTaskKind(kind)) return { task: pattern };
  const [, method, path] = /^([A-Z]+)(?:\s+(.*))?$/.exec(pattern) ?? [];
  if (method === undefined) return { path: pattern };
  return { method, ...(path !== undefined && path !== '' && { path }) };
}

function whenField(text: string, when: string): Record<string, number> {
  if (/^\d+$/.test(when)) return { at: Number(when) };
  if (/^\/\d+$/.test(when)) return { every: Number(when.slice(1)) };
  if (/^\d+(\.\d+)?%$/.test(when)) return { probability: Number(when.slice(0, -1)) / 100 };
  const everyMs = durationMs(when);
  if (everyMs !== undefined) return { every_ms: everyMs };
  throw badRule(text, `has no meaning behind "@": "${when}" is not a number, "/n", "n%" or a duration such as 30s`);
}

function durationMs(text: string): number | undefined {
  const [, count, unit] = DURATION.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]; // units of DURATION
}

function durationComplaint(text: string, duration: string): never {
  throw badRule(text, `has no duration behind "~": "${duration}" should be like 500ms, 5s or 2m`);
}

function badRule(rule: string, problem: string, hint?: string): ProxwrightError {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: '--faults' },
    detail: `The fault rule "${rule}" ${problem.replace(/\.$/, '')}.`,
    hint: hint ?? 'For example: --faults "lock:qemu/*/config@2x3,cut-after:POST clone@1,task-fail=40:qmclone@10%".',
  });
}
