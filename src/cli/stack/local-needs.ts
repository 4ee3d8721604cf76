/**
 * What a plan needs on this machine: files that it uploads and programs that it runs. Checked before anything starts.
 */
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { covers } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { PlanResult } from '../../engine/plan.ts';
import type { Plan } from '../../kinds/change.ts';
import { whereOf } from '../../kinds/fields/positions.ts';
import { actionNamed } from '../../kinds/registry.ts';
import type { Step } from '../../kinds/step.ts';
import type { CommandDeps } from '../command.ts';
import type { OpenedStack } from './open.ts';

type Opened = Pick<OpenedStack, 'stack' | 'directory'>;

/** Rejects a plan that would upload a local file that cannot be read, or run a missing program. */
export async function withLocalNeeds(
  result: PlanResult,
  opened: Opened,
  { environment }: Pick<CommandDeps, 'environment'>,
): Promise<PlanResult> {
  if (!result.ok) return result;
  const { plan } = result;
  const problems = [...(await missingImages(plan, opened)), ...(await missingPrograms(plan, opened, environment.PATH))];
  return problems.length > 0 ? { ok: false, problems } : result;
}

async function missingImages({ steps }: Pick<Plan, 'steps'>, { stack, directory }: Opened): Promise<Diagnostic[]> {
  const missing: Diagnostic[] = [];
  for (const step of steps) {
    const paths = actionNamed(step.action)?.localFiles?.(step.input as never) ?? []; // the input of its action
    const [path] = await without(paths, (each) => isAccessible(resolve(directory, each), constants.R_OK));
    if (path === undefined) continue;
    const image = stack.images.find(({ address }) => covers(address, step.address));
    missing.push(
      new ProxwrightError({
        code: 'UNREADABLE_FILE',
        where: { ...(image?.positions.path ?? image?.positions['']), address: step.address, field: 'path' },
        detail: `The plan uploads the image ${path}, but this machine has no such readable file.`,
        hint: 'Correct the path, which is relative to the directory of the stack file, or put the file there.',
      }).diagnostic,
    );
  }
  return missing;
}

/** Each program once, at the first VM that needs it. */
async function missingPrograms(
  { steps }: Pick<Plan, 'steps'>,
  { stack, directory }: Opened,
  path: string | undefined,
): Promise<Diagnostic[]> {
  const first = new Map<string, Step>();
  for (const step of steps) {
    const programs = actionNamed(step.action)?.programs?.(step.input as never) ?? []; // the input of its action
    for (const program of programs) if (!first.has(program)) first.set(program, step);
  }
  const places = (program: string) =>
    program.includes('/')
      ? [resolve(directory, program)]
      : (path ?? '').split(delimiter).flatMap((folder) => (folder === '' ? [] : [join(folder, program)]));
  const missing = await without([...first.keys()], async (program) => {
    const found = await without(places(program), async (each) => !(await isAccessible(each, constants.X_OK)));
    return found.length > 0;
  });
  return missing.map((program) => {
    const address = first.get(program)?.address;
    const vm = stack.vms.find((each) => each.address === address);
    return new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where: vm ? whereOf(vm, 'hooks') : { ...(address && { address }), field: 'hooks' },
      detail: `The plan runs the hook program "${program}", but this machine has no such program that you may execute.`,
      hint: program.includes('/')
        ? 'Correct the path, which is relative to the directory of the stack file, and make the file executable. To leave hooks out: --no-hooks.'
        : 'Install it, or add its directory to PATH. To leave hooks out: --no-hooks.',
    }).diagnostic;
  });
}

/** Those that fail the check. */
async function without(names: readonly string[], passes: (name: string) => Promise<boolean>): Promise<string[]> {
  const passed = await Promise.all(names.map(passes));
  return names.filter((_, index) => !passed[index]);
}

async function isAccessible(path: string, mode: number): Promise<boolean> {
  try {
    await access(path, mode);
    return true;
  } catch {
    return false;
  }
}
