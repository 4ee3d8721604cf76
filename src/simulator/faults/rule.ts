/**
 * A fault as data: what happens, to which requests or tasks, and how often. Rules can be written in a file, on the
 * command line (`short-form.ts`) or drawn from a seed (`seeded.ts`); what each kind does is in `effects.ts` and its
 * neighbours. Rules apply in order; a request or task that one has ended is not counted by later ones.
 */
import { z } from 'zod';
import { ProxwrightError } from '../../base/errors.ts';
import { parseYaml } from '../yaml-source.ts';
import type { RequestInfo } from './faults.ts';

const milliseconds = z.number().int().positive();

const match = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE']).optional(),
  path: z
    .string()
    .min(1)
    .optional()
    .describe(
      'End of the path, or all of it with a leading slash; * is one part, ** any number, {vmid} the same as *.',
    ),
  task: z.string().min(1).optional().describe('Type of the task, such as qmclone; * stands for anything.'),
});

const common = {
  match: match.default({}),
  at: z.number().int().positive().optional().describe('Begins with the n-th match; once, unless times says more.'),
  every: z.number().int().positive().optional().describe('Every n-th match.'),
  every_ms: milliseconds.optional().describe('The first match after every such period.'),
  probability: z.number().gt(0).max(1).optional().describe('Chance per match, from the seed.'),
  times: z.number().int().positive().optional().describe('How often altogether.'),
};

const lasting = (defaultMs: number) => milliseconds.default(defaultMs);

const rule = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('lock'), ...common, for_ms: lasting(5_000) }),
  z.strictObject({
    kind: z.literal('storage-lock'),
    ...common,
    storage: z.string().optional(),
    for_ms: lasting(15_000),
  }),
  z.strictObject({ kind: z.literal('users-lock'), ...common, for_ms: lasting(15_000) }),
  z.strictObject({
    kind: z.literal('refuse'),
    ...common,
    status: z.number().int().min(400).max(599).default(500),
    message: z.string().min(1).default('simulated refusal'),
  }),
  z.strictObject({ kind: z.literal('unreachable'), ...common, reason: z.string().default('Connection refused') }),
  z.strictObject({ kind: z.literal('proxy-timeout'), ...common }),
  z.strictObject({ kind: z.literal('cut-before'), ...common }),
  z.strictObject({ kind: z.literal('cut-after'), ...common }),
  z.strictObject({
    kind: z.literal('task-fail'),
    ...common,
    percent: z.number().min(0).max(100).default(50).describe('How far it gets: 0 does nothing, 100 everything.'),
    message: z.string().min(1).default('simulated failure'),
  }),
  z.strictObject({
    kind: z.literal('task-warn'),
    ...common,
    message: z.string().min(1).default('simulated warning'),
  }),
  z.strictObject({ kind: z.literal('task-unknown'), ...common, for_ms: lasting(2_000) }),
  z.strictObject({
    kind: z.literal('download-fail'),
    ...common,
    how: z
      .enum(['unresolvable', 'refused', 'status', 'cut', 'cut-once', 'content'])
      .default('cut')
      .describe(
        'No such host, connection refused, an HTTP error, a connection that breaks every time or once, other bytes arrive.',
      ),
    status: z.number().int().min(400).max(599).default(503),
    percent: z.number().min(0).max(99).default(50).describe('How much has arrived when the connection breaks.'),
  }),
  z.strictObject({
    kind: z.literal('download-stall'),
    ...common,
    percent: z.number().min(0).max(99).default(50),
    for_ms: lasting(60_000),
  }),
  z.strictObject({
    kind: z.literal('upload-cut'),
    ...common,
    percent: z.number().min(0).max(100).default(50).describe('How much has arrived when the connection ends.'),
  }),
  z.strictObject({
    kind: z.literal('upload-stall'),
    ...common,
    percent: z.number().min(0).max(100).default(50),
    for_ms: lasting(60_000),
  }),
  z.strictObject({ kind: z.literal('ticket-expired'), ...common }),
  z.strictObject({ kind: z.literal('daemon-down'), ...common, for_ms: lasting(10_000) }),
  z.strictObject({
    kind: z.literal('disk-full'),
    ...common,
    storage: z.string().optional(),
    for_ms: lasting(30_000),
  }),
  z.strictObject({ kind: z.literal('agent-silent'), ...common, for_ms: lasting(60_000) }),
  z.strictObject({
    kind: z.literal('stranger-edit'),
    ...common,
    set: z.record(z.string(), z.string()).default({ description: 'changed by another client' }),
  }),
  z.strictObject({
    kind: z.literal('stranger-lock'),
    ...common,
    lock: z.enum(['backup', 'snapshot', 'migrate']).default('backup'),
    for_ms: lasting(60_000),
  }),
  z.strictObject({ kind: z.literal('stranger-id'), ...common }),
]);

const SCHEDULES = ['at', 'every', 'every_ms', 'probability'] as const;

export const faultRuleSchema = rule.refine(
  (value) => SCHEDULES.filter((name) => value[name] !== undefined).length <= 1,
  `Give only one of ${SCHEDULES.join(', ')}.`,
);

/** With all defaults filled in. */
export type FaultRule = z.output<typeof faultRuleSchema>;
/** As written, defaults left out. */
export type FaultRuleInput = z.input<typeof faultRuleSchema>;
export type FaultKind = FaultRule['kind'];

export const ALL_FAULT_KINDS: readonly FaultKind[] = rule.options.map((option) => option.shape.kind.value);
/** The kinds that strike only where files are downloaded or uploaded. */
export const TRANSFER_FAULT_KINDS: readonly FaultKind[] = ALL_FAULT_KINDS.filter(isTransferKind);
/** The kinds that can strike any use of a cluster. */
export const FAULT_KINDS: readonly FaultKind[] = ALL_FAULT_KINDS.filter((kind) => !isTransferKind(kind));

/** The kinds that strike tasks rather than requests. */
export function isTaskKind(kind: string): kind is 'task-fail' | 'task-warn' {
  return kind === 'task-fail' || kind === 'task-warn';
}

/** The kinds that strike file transfers rather than requests. */
export function isTransferKind(
  kind: string,
): kind is 'download-fail' | 'download-stall' | 'upload-cut' | 'upload-stall' {
  return kind.startsWith('download-') || kind.startsWith('upload-');
}

export function parseRuleFile(text: string, file: string): FaultRule[] {
  const source = parseYaml(text, file);
  if (!Array.isArray(source.value)) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file },
      detail: 'A file of fault rules is a list; this one is not.',
      hint: 'Begin every rule with "- kind: …".',
    });
  }
  return source.value.map((value: unknown, index) => {
    const parsed = faultRuleSchema.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const path = [index, ...(issue?.path ?? [])];
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file, ...source.position(path) },
      detail: `Rule ${index + 1}, ${issue?.path.join('.') || 'as a whole'}: ${issue?.message ?? 'not a rule'}.`,
      hint: `Known kinds: ${ALL_FAULT_KINDS.join(', ')}.`,
    });
  });
}

export function requestMatcher({ method, path }: FaultRule['match']): (info: RequestInfo) => boolean {
  const matchesPath = path === undefined ? () => true : pathPattern(path);
  return (info) => (method === undefined || method === info.method) && matchesPath(info.path);
}

export function taskMatcher({ task = '*' }: FaultRule['match']): (type: string) => boolean {
  const pattern = new RegExp(`^${wildcards(task)}$`);
  return (type) => pattern.test(type);
}

/** `clone` and `storage/local` match the end of a path, `/nodes/{node}/qemu` the whole. */
export function pathPattern(pattern: string): (path: string) => boolean {
  const isWhole = pattern.startsWith('/');
  const parts = pattern
    .split('/')
    .filter(Boolean)
    .map((part) => (/^\{.*\}$/.test(part) ? '[^/]+' : wildcards(part)));
  const expression = new RegExp(`${isWhole ? '^/' : '(?:^|/)'}${parts.join('/')}$`);
  return (path) => expression.test(path);
}

function wildcards(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replace(/\*\*|\*/g, (stars) => (stars === '**' ? '.*' : '[^/]*'));
}
