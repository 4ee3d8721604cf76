/** Every check that a plan makes: template, node, ids, storages, bridges, sizes, boot order, mappings. */
import { counted } from '../../../base/count.ts';
import type { Examination } from '../examination.ts';
import { type Finding, findingsOf } from '../finding.ts';

export function checkPlan({ result, rights, stack }: Pick<Examination, 'result' | 'rights' | 'stack'>): Finding[] {
  const say = findingsOf('plan');
  if (result.ok) {
    const { plan } = result;
    const words =
      plan.steps.length === 0
        ? `${counted(stack.vms.length, 'VM')}, nothing to do.`
        : `${counted(stack.vms.length, 'VM')}, ${counted(plan.steps.length, 'step')}: what the file names is there.`;
    return [say.good(words), ...plan.warnings.map((warning) => say.of(warning, 'unknown'))];
  }
  // Rights that are missing have been named, with what mends them; room is told storage by storage.
  const isSaid = (code: string) =>
    (code === 'PRIVILEGE_MISSING' && rights.check.missing.length > 0) || code === 'NO_SPACE';
  const problems = result.problems.filter(({ code }) => !isSaid(code));
  if (problems.length > 0) return problems.map((problem) => say.of(problem, 'bad'));
  if (result.problems.some(({ code }) => code === 'NO_SPACE')) {
    return [say.bad('What the file names is there, but there is no room for it: see storage.')];
  }
  return [
    {
      check: 'plan',
      verdict: 'unknown',
      words: 'Not made: the token does not see what the file names. Run doctor again afterwards.',
    },
  ];
}
