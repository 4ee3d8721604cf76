/** Local files that a plan is going to send: whether they are there is known before anything is begun. */
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { resolve } from 'node:path';
import { covers } from '../base/address.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { ProxwrightError } from '../base/errors.ts';
import type { PlanResult } from '../engine/plan.ts';
import type { Plan } from '../engine/plan-types.ts';
import { isFileStep } from '../resources/file/steps.ts';
import type { StackHost } from './opened-stack.ts';

/** A plan that would send what is not there is none. */
export async function withLocalImages(
  result: PlanResult,
  stackHost: Pick<StackHost, 'stack' | 'directory'>,
): Promise<PlanResult> {
  const problems = result.ok ? await missingImages(result.plan, stackHost) : [];
  return problems.length > 0 ? { ok: false, problems } : result;
}

async function missingImages(
  { steps }: Pick<Plan, 'steps'>,
  { stack, directory }: Pick<StackHost, 'stack' | 'directory'>,
): Promise<Diagnostic[]> {
  const missing: Diagnostic[] = [];
  for (const step of steps) {
    if (!isFileStep(step) || step.action !== 'image.send' || step.input.origin.kind !== 'file') continue;
    const { path } = step.input.origin;
    if (await isReadable(resolve(directory, path))) continue;
    const image = stack.images.find(({ address }) => covers(address, step.address));
    missing.push(
      new ProxwrightError({
        code: 'UNREADABLE_FILE',
        where: { ...(image?.positions.path ?? image?.positions['']), address: step.address, field: 'path' },
        detail: `The image ${path} is to be sent, and there is no such file that can be read here.`,
        hint: 'Correct the path, which counts from the directory of the stack file, or put the file there.',
      }).diagnostic,
    );
  }
  return missing;
}

async function isReadable(path: string): Promise<boolean> {
  try {
    await access(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
