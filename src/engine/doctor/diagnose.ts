/** Runs all checks on one examination, in the order in which they are shown. Pure. */

import type { Checks } from '../../kinds/doctor/examined.ts';
import type { CheckName, Finding } from '../../kinds/doctor/finding.ts';
import { KINDS } from '../../kinds/registry.ts';
import {
  checkCertificate,
  checkClock,
  checkEndpoint,
  checkLatency,
  checkQuorum,
  checkToken,
  checkVersion,
} from './checks/connection.ts';
import { checkPlan, checkPrivileges, checkReadings } from './checks/plan.ts';
import type { Examination } from './examination.ts';

type Check = (examination: Examination) => readonly Finding[];

/** The checks of the kinds, by name. */
const OF_KINDS: Checks = Object.assign({}, ...KINDS.map(({ checks }) => checks));

const ofKinds = (...names: readonly CheckName[]): Check[] => names.flatMap((name) => OF_KINDS[name] ?? []);

const ALL: readonly Check[] = [
  checkEndpoint,
  checkCertificate,
  checkVersion,
  checkToken,
  checkClock,
  checkLatency,
  checkPrivileges,
  checkPlan,
  ...ofKinds('template', 'images', 'storage', 'capacity', 'neighbours', 'devices'),
  checkQuorum,
];

export function diagnose(examination: Examination): Finding[] {
  // A token without privileges sees an empty cluster: report that first, and nothing that follows from it.
  if (!examination.rights.hasAny && examination.rights.check.missing.length > 0) return diagnoseBlind(examination);
  return [...ALL.flatMap((check) => check(examination)), ...unsaid(examination)];
}

function diagnoseBlind(examination: Examination): Finding[] {
  const reachable = [checkEndpoint, checkCertificate, checkVersion, checkToken, checkClock, checkLatency];
  const isFault = ({ verdict }: Finding) => verdict === 'bad';
  return [
    ...checkPrivileges(examination),
    ...reachable.flatMap((check) => check(examination)),
    ...checkPlan(examination).filter(isFault),
    {
      check: 'plan',
      verdict: 'unknown',
      words:
        'Templates, storages, bridges, memory, other VMs and quorum: not checked, because the token cannot read anything yet.',
      remedy: 'Run the commands above on a node, then: proxwright doctor',
    },
  ];
}

/** Missing read privileges that no other check has reported. */
function unsaid(examination: Examination): Finding[] {
  const said = ALL.filter((check) => check !== checkPrivileges)
    .flatMap((check) => check(examination))
    .flatMap(({ needs }) => needs ?? []);
  return checkReadings(examination).filter(({ needs }) => needs === undefined || !said.includes(needs));
}
