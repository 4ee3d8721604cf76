/** Whether a plan can be made (template, node, ids, storages, bridges, boot order, mappings), and may be executed by the token. */

import { type Diagnostic, foldDiagnostics } from '../../../base/diagnostics.ts';
import { counted } from '../../../base/values/units.ts';
import { type Finding, findingsOf } from '../../../kinds/doctor/finding.ts';
import { RUN_AS_ROOT } from '../../privileges/report.ts';
import type { Examination } from '../examination.ts';

export function checkPlan({ result, rights, stack }: Pick<Examination, 'result' | 'rights' | 'stack'>): Finding[] {
  const say = findingsOf('plan');
  if (result.ok) {
    const { plan } = result;
    const words =
      plan.steps.length === 0
        ? `${counted(stack.vms.length, 'VM')}, nothing to do.`
        : `${counted(stack.vms.length, 'VM')}, ${counted(plan.steps.length, 'step')}: everything that the file refers to exists.`;
    return [
      say.good(words),
      ...foldDiagnostics(plan.warnings.filter((warning) => !isAboutAddress(warning))).map((warning) =>
        say.of(warning, 'unknown'),
      ),
    ];
  }
  // Other checks report missing privileges with their remedy, the space on each storage, and addresses of other VMs.
  const isSaid = (code: string) =>
    (code === 'PRIVILEGE_MISSING' && rights.check.missing.length > 0) ||
    code === 'NO_SPACE' ||
    code === 'ADDRESS_TAKEN';
  const problems = result.problems.filter(({ code }) => !isSaid(code));
  if (problems.length > 0) return foldDiagnostics(problems).map((problem) => say.of(problem, 'bad'));
  if (result.problems.some(({ code }) => code === 'NO_SPACE')) {
    return [say.bad('Everything that the file refers to exists, but there is not enough space: see storage.')];
  }
  if (result.problems.some(({ code }) => code === 'ADDRESS_TAKEN')) {
    return [say.bad('Everything that the file refers to exists, but an address is in use: see other VMs.')];
  }
  return [
    {
      check: 'plan',
      verdict: 'unknown',
      words:
        'No plan yet: the token cannot see everything that the file refers to. Grant the privileges above, then run doctor again.',
    },
  ];
}

/** The check of other VMs reports these, for all VMs of the stack. */
function isAboutAddress({ where }: Diagnostic): boolean {
  return where?.field !== undefined && /^nics\..*\.address$/.test(where.field);
}

export function checkPrivileges({
  rights,
  principal,
  result,
}: Pick<Examination, 'rights' | 'principal' | 'result'>): Finding[] {
  const say = findingsOf('privileges');
  const { check } = rights;
  const notes = rights.guesses;
  if (!rights.hasAny && check.missing[0]) return [blindness(principal, check.missing[0], notes)];
  if (check.missing.length > 0) {
    return check.missing.map((problem, index) => {
      const { details = [], ...found } = say.of(problem, 'bad');
      // The view adds this line above a remedy that consists of commands.
      return { ...found, details: [...details.filter((line) => line !== RUN_AS_ROOT), ...(index === 0 ? notes : [])] };
    });
  }
  // Unknown without a plan; the plan check reports what prevents one.
  if (!result.ok && check.requirements.length === 0) return [];
  if (result.ok && result.plan.steps.length === 0) {
    return [
      say.good('The plan has no changes, so it needs no privileges.', {
        details: ['For what later changes and a destroy need: proxwright permissions --lifecycle'],
      }),
    ];
  }
  const strong = check.requirements.filter(({ strong: isStrong }) => isStrong);
  const list = strong.map(({ privileges, paths, because }) => {
    const { field, file, line } = because[0].where;
    const place = file === undefined || line === undefined ? '' : ` (${file}:${line})`;
    return `${privileges[0]} on ${paths[0].path} is a strong privilege; ${field ?? because[0].step}${place} needs it`;
  });
  return [
    say.good(`${principal} has all ${counted(check.requirements.length, 'privilege')} that the plan needs.`, {
      ...(list.length > 0 && { details: list }),
    }),
  ];
}

/** The usual start: a new token without any ACL entry. */
function blindness(principal: string, { hint }: Diagnostic, notes: readonly string[]): Finding {
  const [user = principal, token] = principal.split('!');
  const who = token === undefined ? `${user} needs a role` : `${user} and its token both need ACL entries`;
  const words = `${principal} has no privileges at all, so it sees an empty cluster: ${who}.`;
  return findingsOf('privileges').bad(words, { details: notes, remedy: hint?.text ?? '' });
}

/** What could not be read for other checks. */
export function checkReadings({ rights }: Pick<Examination, 'rights'>): Finding[] {
  const say = findingsOf('privileges');
  return rights.check.notChecked.map((warning) => say.of(warning, 'unknown'));
}
