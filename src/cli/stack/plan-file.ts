/**
 * Plans on disk: written for their owner only, with a checksum, and checked when they are read. With a key in the
 * environment they are signed, and a plan that is not signed with that key is refused.
 */
import { resolve } from 'node:path';
import { z } from 'zod';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { Secret } from '../../base/secret.ts';
import { parseJson, safeJson } from '../../base/text/safe-text.ts';
import { PLAN_VERSION, type Plan } from '../../kinds/change.ts';
import { readTextFile } from '../../local/text-file.ts';
import { checksumOf, inOrder, isSignedBy, sealed, signatureOf } from '../../state/seal.ts';
import type { CommandDeps } from '../command.ts';
import { writePrivateFile } from '../write-file.ts';

/** Enough to recognise a plan. Apply recomputes the plan and compares its steps. */
const planSchema = z.looseObject({
  version: z.literal(PLAN_VERSION),
  stack: z.string(),
  createdAt: z.string(),
  changes: z.array(z.looseObject({ address: z.string(), kind: z.string() })),
  steps: z.array(z.looseObject({ id: z.string(), address: z.string(), action: z.string(), input: z.unknown() })),
  warnings: z.array(z.looseObject({})),
  options: z
    .strictObject({
      only: z.array(z.string()),
      allowDelete: z.boolean(),
      allowRestart: z.boolean(),
      replace: z.array(z.string()),
      destroyData: z.array(z.string()),
    })
    .partial()
    .optional(),
  fingerprints: z.strictObject({
    stack: z.string(),
    state: z.string(),
    lineage: z.string().optional(),
    serial: z.number().optional(),
    vms: z.record(z.string(), z.string()),
  }),
});

const PLAN_KEY_VARIABLE = 'PROXWRIGHT_PLAN_KEY';
const SHORTEST_KEY = 16;
const PURPOSE = `proxwright plan ${PLAN_VERSION}`;

/** Undefined if plans are not signed here. */
function planKey({ environment, secrets }: Pick<CommandDeps, 'environment' | 'secrets'>): Secret | undefined {
  const value = environment[PLAN_KEY_VARIABLE];
  if (value === undefined) return undefined;
  const key = new Secret(value);
  secrets.add(key);
  // An empty variable is what a job without access to the secret gets.
  if (value.length >= SHORTEST_KEY) return key;
  throw new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: PLAN_KEY_VARIABLE },
    detail: `The key has ${value.length} characters; it needs at least ${SHORTEST_KEY}.`,
    hint: 'Make one: openssl rand -hex 32. Or leave the variable out, and plans are not signed.',
  });
}

export async function writePlan(file: string, plan: Plan, deps: CommandDeps): Promise<void> {
  await writePrivateFile(resolve(deps.directory, file), printPlan(plan, planKey(deps)), file);
}

/** The same text for the same plan: keys are in one order. */
export function printPlan(plan: Plan, key?: Secret): string {
  const signature = key && { signature: signatureOf(plan, PURPOSE, key) };
  return `${safeJson({ ...(inOrder(plan) as object), ...signature, checksum: checksumOf({ ...plan, ...signature }) }, 2)}\n`;
}

/** Enough for thousands of VMs. */
const MAX_PLAN_BYTES = 256 * 1024 ** 2;

export async function readPlan(file: string, stack: string, deps: CommandDeps): Promise<Plan> {
  const text = await readTextFile(
    resolve(deps.directory, file),
    'a plan',
    advice`To create one: ${command('plan', '--out', 'FILE')}`,
    file,
    { maxBytes: MAX_PLAN_BYTES },
  );
  const key = planKey(deps);
  const plan = parsePlan(text, file, stack, key);
  if (key) deps.terminal.log('info', `The signature of ${file} is valid.`);
  return plan;
}

/** `stack` is the name of the stack that the plan must be for, `key` the one that it must be signed with. */
export function parsePlan(text: string, file: string, stack: string, key?: Secret): Plan {
  const { content: signed, isSound } = sealed(parseJson(text));
  const { signature, content } = withoutSignature(signed);
  const parsed = planSchema.safeParse(content);
  if (!parsed.success) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file },
      detail: 'This file is not a plan, or not a plan of this version of Proxwright.',
      hint: advice`To create one: ${command('plan', '--out', 'FILE')}`,
    });
  }
  if (!isSound) {
    throw new ProxwrightError({
      code: 'PLAN_STALE',
      where: { file },
      detail:
        'Its checksum does not match its content: the plan was edited or damaged after it was made. Nothing was changed.',
      hint: advice`Make a new plan: ${command('plan', '--out', file)}`,
    });
  }
  if (key) assertSigned(signature, content, file, key);
  if (parsed.data.stack !== stack) {
    throw new ProxwrightError({
      code: 'PLAN_STALE',
      where: { file },
      detail: `This plan is for the stack "${parsed.data.stack}", not for "${stack}".`,
      hint: 'Name the stack file that it was created from: --file FILE',
    });
  }
  return parsed.data as unknown as Plan; // its shape has been checked; its steps are as `plan` wrote them unless the file was edited
}

function withoutSignature(value: unknown): { readonly signature: unknown; readonly content: unknown } {
  if (typeof value !== 'object' || value === null || !('signature' in value)) {
    return { signature: undefined, content: value };
  }
  const { signature, ...content } = value;
  return { signature, content };
}

function assertSigned(signature: unknown, content: unknown, file: string, key: Secret): void {
  if (typeof signature === 'string' && isSignedBy(signature, content, PURPOSE, key)) return;
  throw new ProxwrightError({
    code: 'PLAN_UNTRUSTED',
    where: { file },
    detail:
      signature === undefined
        ? `${PLAN_KEY_VARIABLE} is set, and this plan is not signed. Nothing was changed.`
        : `The signature does not match: the plan was made with another key than the one in ${PLAN_KEY_VARIABLE}, or was changed since. Nothing was changed.`,
    hint: advice`Make the plan where the key is set: ${command('plan', '--out', file)}`,
  });
}
