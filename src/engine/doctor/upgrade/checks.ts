/**
 * What an upgrade of Proxmox VE breaks: in the stack, in roles, in templates and VMs, and in Terraform files near the
 * stack. Pure.
 */

import type { Instant } from '../../../base/clock.ts';
import { nodeCommand } from '../../../base/text/node-command.ts';
import type { UpgradeContext } from '../../../kinds/doctor/examined.ts';
import { type Finding, findingsOf } from '../../../kinds/doctor/finding.ts';
import { KINDS } from '../../../kinds/registry.ts';
import {
  BEHAVIOURS,
  lostBetween,
  NEWEST_RELEASE,
  PRIVILEGES,
  type ServerVersion,
  supportOf,
} from '../../../pve/compatibility.ts';
import type { AclEntry, Role } from '../../../pve/index.ts';
import { assumedNeeds } from '../../privileges/assumed.ts';
import { printPath, type Requirement } from '../../privileges/requirement.ts';
import { compareVersions, isTrueOf, PROVIDER_FACTS, providerUses, RESOURCE_FACTS, type TextFile } from './providers.ts';

export interface UpgradeInput extends UpgradeContext {
  readonly now: Instant;
  readonly principal: string;
  readonly roles: readonly Role[];
  /** Only entries that the token may see. */
  readonly acl: readonly AclEntry[];
  /** Terraform files near the stack. */
  readonly files: readonly TextFile[];
}

const say = findingsOf('upgrade');

export function checkUpgrade(input: UpgradeInput): Finding[] {
  const { from, to } = input;
  if (compareVersions(from.version, to.version) >= 0) {
    return [say.good(`The server already runs ${from.version}.`), ...checkAutomation(input)];
  }
  const unknown =
    supportOf(to) === 'unknown'
      ? [
          say.warning(
            `${to.version} is newer than all releases that Proxwright knows; changes after ${NEWEST_RELEASE} are not checked.`,
            {
              remedy: 'Upgrade Proxwright, and read the release notes of Proxmox VE.',
            },
          ),
        ]
      : [];
  const faults = [
    ...checkRoles(input),
    ...checkNewNeeds(input),
    ...KINDS.flatMap((kind) => kind.checkUpgrade?.(input) ?? []),
    ...checkStorageTypes(input),
    ...checkAutomation(input),
  ];
  const isWell = faults.every(({ verdict }) => verdict !== 'bad' && verdict !== 'warning');
  const good = isWell ? [say.good(`No known problems with ${from.version} → ${to.version}.`)] : [];
  return [...unknown, ...good, ...faults];
}

/**
 * Roles with privileges that the new release removes. The new release ignores unknown privileges, and the old one rejects
 * their replacements, so roles can only be changed after the upgrade.
 */
export function checkRoles(input: UpgradeInput): Finding[] {
  const { from, to, roles, acl, principal } = input;
  const lost = new Set(lostBetween(PRIVILEGES, from, to));
  const [user] = principal.split('!');
  const own = new Set(acl.filter(({ ugid }) => ugid === principal || ugid === user).map(({ roleid }) => roleid));
  return roles
    .filter(({ special }) => !special)
    .flatMap(({ roleid, privs }): Finding[] => {
      const gone = privs.filter((privilege) => lost.has(privilege));
      const [first] = gone;
      if (first === undefined) return [];
      const words = `Role ${roleid} loses ${gone.join(', ')}, which ${to.version} does not have`;
      const instead = PRIVILEGES[first]?.instead;
      const successors = [...freshNeeds(input).keys()];
      // Other tokens may have the role, too: their entries can be hidden.
      if (own.has(roleid) && successors.length > 0) {
        const remedy = `After the upgrade, run for this stack: ${nodeCommand('pveum role modify', [roleid], { append: 1, privs: successors.join(' ') })}`;
        return [say.warning(`${words}, and ${principal} has this role.`, { remedy })];
      }
      const remedy = `After the upgrade, add what its users need${instead === undefined ? '' : ` of ${instead}`}: ${nodeCommand('pveum role modify', [roleid], { append: 1, privs: '…' })}`;
      return [say.warning(`${words}.`, { remedy })];
    });
}

/** What the stack needs only after the upgrade: privilege → paths. */
function freshNeeds({ from, to, stack, observed, now }: UpgradeInput): Map<string, Set<string>> {
  const needsOn = (version: ServerVersion): readonly Requirement[] => {
    const assumed = assumedNeeds({ stack, observed, now, version, lifecycle: true });
    return assumed.ok ? assumed.needs.requirements : [];
  };
  const today = new Set(needsOn(from).flatMap(({ privileges }) => privileges));
  const fresh = new Map<string, Set<string>>();
  for (const { privileges, paths } of needsOn(to)) {
    if (privileges.some((privilege) => today.has(privilege))) continue;
    const places = fresh.get(privileges[0]) ?? new Set();
    fresh.set(privileges[0], new Set([...places, ...paths.map(printPath)]));
  }
  return fresh;
}

export function checkNewNeeds(input: UpgradeInput): Finding[] {
  const { from, to } = input;
  const fresh = freshNeeds(input);
  if (fresh.size === 0) return [];
  return [
    say.warning(
      `After the upgrade this stack needs ${[...fresh.keys()].join(', ')}, which ${from.version} does not require.`,
      {
        details: [...fresh].map(([privilege, places]) => `${privilege} on ${[...places].slice(0, 5).join(', ')}`),
        remedy: `After the upgrade, run: proxwright permissions --lifecycle. To see its output today: proxwright permissions --lifecycle --pve ${to.version}`,
      },
    ),
  ];
}

export function checkStorageTypes({ from, to, observed }: UpgradeInput): Finding[] {
  if (!lostBetween(BEHAVIOURS, from, to).includes('storage type glusterfs')) return [];
  const rows = [...observed.storages.values()].flatMap((each) => (each.ok ? each.value : []));
  const names = new Set(rows.filter(({ type }) => type === 'glusterfs').map(({ storage }) => storage));
  return [...names].map((name) =>
    say.bad(`Storage ${name} has the type glusterfs, which ${to.version} does not support.`, {
      remedy: 'Move its disks to another storage first, or mount it on the nodes and add it as a directory.',
    }),
  );
}

/** Terraform providers and resources that break. */
export function checkAutomation({ to, files }: Pick<UpgradeInput, 'to' | 'files'>): Finding[] {
  const concerns = ({ brokenBy }: { readonly brokenBy: string }) => compareVersions(to.version, brokenBy) >= 0;
  const providers = providerUses(files).flatMap(({ file, line, source, version, isExact }): Finding[] =>
    PROVIDER_FACTS.filter((fact) => concerns(fact) && fact.source === source && isTrueOf(fact, version)).map((fact) => {
      const subject = isExact ? `${source} ${version}` : `The version constraint of ${source} allows ${version}, which`;
      const verdict = isExact ? fact.verdict : 'warning';
      return say[verdict](`${subject} ${fact.why}.`, {
        remedy: fact.remedy,
        details: [fact.evidence],
        where: { file, line },
      });
    }),
  );
  const resources = files.flatMap(({ name, text }): Finding[] =>
    RESOURCE_FACTS.filter((fact) => concerns(fact)).flatMap(({ source, why, verdict, remedy, evidence }) => {
      const index = text.indexOf(`"${source}"`);
      if (index < 0) return [];
      const where = { file: name, line: text.slice(0, index).split('\n').length };
      return [say[verdict](`${source} ${why}.`, { remedy, details: [evidence], where })];
    }),
  );
  return [...providers, ...resources];
}
