/** Plans on disk: written for their owner only, and checked when they are read. */
import { resolve } from 'node:path';
import { z } from 'zod';
import { ProxwrightError } from '../../base/errors.ts';
import { advice, command } from '../../base/hint.ts';
import { PLAN_VERSION, type Plan } from '../../kinds/change.ts';
import { readTextFile } from '../../local/text-file.ts';
import type { CommandDeps } from '../command.ts';
import { writePrivateFile } from '../write-file.ts';

/** Enough to tell a plan from any other file. Its fingerprints show whether it still fits the cluster. */
const planSchema = z.looseObject({
  version: z.literal(PLAN_VERSION),
  stack: z.string(),
  createdAt: z.string(),
  changes: z.array(z.looseObject({ address: z.string(), kind: z.string() })),
  steps: z.array(z.looseObject({ id: z.string(), address: z.string(), action: z.string(), input: z.unknown() })),
  warnings: z.array(z.looseObject({})),
  fingerprints: z.strictObject({ stack: z.string(), state: z.string(), vms: z.record(z.string(), z.string()) }),
});

export async function writePlan(file: string, plan: Plan, deps: CommandDeps): Promise<void> {
  await writePrivateFile(resolve(deps.directory, file), `${JSON.stringify(plan, undefined, 2)}\n`, file);
}

export async function readPlan(file: string, stack: string, deps: CommandDeps): Promise<Plan> {
  const text = await readTextFile(
    resolve(deps.directory, file),
    'a plan',
    advice`To create one: ${command('plan', '--out', 'FILE')}`,
    file,
  );
  const parsed = planSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file },
      detail: 'This file is not a plan, or not a plan of this version of Proxwright.',
      hint: advice`To create one: ${command('plan', '--out', 'FILE')}`,
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
