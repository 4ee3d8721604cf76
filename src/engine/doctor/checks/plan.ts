/** Every check that a plan makes: template, node, ids, storages, bridges, sizes, boot order, mappings. */

import type { Diagnostic } from '../../../base/diagnostics.ts';
import { counted } from '../../../base/units.ts';
import { guessText } from '../../privileges/assumed.ts';
import { TO_TYPE } from '../../privileges/report.ts';
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

export function checkPrivileges({
  rights,
  principal,
  result,
}: Pick<Examination, 'rights' | 'principal' | 'result'>): Finding[] {
  const say = findingsOf('privileges');
  const { check } = rights;
  const notes = rights.guesses.map(guessText);
  if (!rights.hasAny && check.missing[0]) return [blindness(principal, check.missing[0], notes)];
  if (check.missing.length > 0) {
    return check.missing.map((problem, index) => {
      const { details = [], ...found } = say.of(problem, 'bad');
      // Where to type it the remedy says by being a script.
      return { ...found, details: [...details.filter((line) => line !== TO_TYPE), ...(index === 0 ? notes : [])] };
    });
  }
  // Without a plan nobody knows; what stands in its way is said below.
  if (!result.ok && check.requirements.length === 0) return [];
  if (result.ok && result.plan.steps.length === 0) {
    return [
      say.good('The plan has nothing to do, so it needs nothing.', {
        details: ['What changes and a destroy would need: proxwright permissions --lifecycle'],
      }),
    ];
  }
  const strong = check.requirements.filter(({ strong: isStrong }) => isStrong);
  const list = strong.map(({ privileges, paths, because }) => {
    const { field, file, line } = because[0].where;
    const place = file === undefined || line === undefined ? '' : ` (${file}:${line})`;
    return `${privileges[0]} on ${paths[0].path} is strong; ${field ?? because[0].step}${place} asks for it`;
  });
  return [
    say.good(`${principal} has all ${counted(check.requirements.length, 'right')} that are needed.`, {
      ...(list.length > 0 && { details: list }),
    }),
  ];
}

/** The usual beginning: a token that somebody made, and nobody gave anything. */
function blindness(principal: string, { hint }: Diagnostic, notes: readonly string[]): Finding {
  const [user = principal, token] = principal.split('!');
  const who = token === undefined ? `${user} needs a role` : `${user} and its token both need entries`;
  const words = `${principal} has no privileges at all, so it sees an empty cluster: ${who}.`;
  return findingsOf('privileges').bad(words, { details: notes, remedy: hint?.text ?? '' });
}

/** What other checks would like to read and may not. */
export function checkReadings({ rights }: Pick<Examination, 'rights'>): Finding[] {
  const say = findingsOf('privileges');
  return rights.check.notChecked.map((warning) => say.of(warning, 'unknown'));
}
