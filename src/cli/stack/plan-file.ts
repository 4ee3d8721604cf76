/** Plans on disk: written for their owner only with a checksum, and checked when they are read. */
import { resolve } from 'node:path';
import { z } from 'zod';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { parseJson, safeJson } from '../../base/text/safe-text.ts';
import { PLAN_VERSION, type Plan } from '../../kinds/change.ts';
import { readTextFile } from '../../local/text-file.ts';
import { checksumOf, sealed } from '../../state/seal.ts';
import type { CommandDeps } from '../command.ts';
import { writePrivateFile } from '../write-file.ts';

/** Enough to tell a plan from any other file. Apply makes the plan again and compares its steps. */
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
  fingerprints: z.strictObject({ stack: z.string(), state: z.string(), vms: z.record(z.string(), z.string()) }),
});

export async function writePlan(file: string, plan: Plan, deps: CommandDeps): Promise<void> {
  await writePrivateFile(resolve(deps.directory, file), printPlan(plan), file);
}

export function printPlan(plan: Plan): string {
  return `${safeJson({ ...plan, checksum: checksumOf(plan) }, 2)}\n`;
}

/** Of thousands of VMs. */
const MAX_PLAN_BYTES = 256 * 1024 ** 2;

export async function readPlan(file: string, stack: string, deps: CommandDeps): Promise<Plan> {
  const text = await readTextFile(
    resolve(deps.directory, file),
    'a plan',
    advice`To create one: ${command('plan', '--out', 'FILE')}`,
    file,
    { maxBytes: MAX_PLAN_BYTES },
  );
  return parsePlan(text, file, stack);
}

/** `stack` is the name of the stack that the plan must be for. */
export function parsePlan(text: string, file: string, stack: string): Plan {
  const { content, isSound } = sealed(parseJson(text));
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
        'Its checksum does not fit its content: the plan was edited or damaged after it was made. Nothing was changed.',
      hint: advice`Make a new plan: ${command('plan', '--out', file)}`,
    });
  }
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
