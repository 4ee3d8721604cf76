/**
 * Whether the token may do what a plan is about to do, found out before anything is done: what the steps need, what the
 * server grants, and the difference with its lines and remedies. What cannot be told is said, never taken as fine.
 */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { isFamily } from '../../base/errors.ts';
import type { Plan } from '../../kinds/change.ts';
import type { Observed } from '../../kinds/observed.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import { type ServerVersion, supportOf } from '../../kinds/vm/privileges/rules.ts';
import type { Pve } from '../../pve/client.ts';
import { Grants, isRealRoot } from './grants.ts';
import type { Holder } from './pveum.ts';
import { notRead, readingsOf } from './readings.ts';
import { missingPrivileges } from './report.ts';
import type { Requirement } from './requirement.ts';
import { type PlanNeeds, requirementsOf } from './requirements.ts';
import { tagNeedsOf } from './tags.ts';
import { withZones } from './zones.ts';

export interface CheckNeedsInput {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  readonly version: ServerVersion;
  readonly signal?: AbortSignal | undefined;
  /** Also what only a thorough examination wants to read; a plan does without. */
  readonly thorough?: boolean;
}

export interface CheckPrivilegesInput extends CheckNeedsInput {
  readonly plan: Plan;
  readonly observed: Observed;
}

export interface PrivilegeCheck {
  /** What stands against the plan: errors, with the commands that mend them. */
  readonly missing: readonly Diagnostic[];
  /** What could not be told, and what it would take. */
  readonly notChecked: readonly Diagnostic[];
  readonly requirements: readonly Requirement[];
  /** Those of the requirements that the token does not meet. */
  readonly gaps: readonly Requirement[];
  readonly grants: Grants;
}

export function checkPrivileges(input: CheckPrivilegesInput): Promise<PrivilegeCheck> {
  return checkNeeds(requirementsOf(input), input);
}

export async function checkNeeds(needs: PlanNeeds, input: CheckNeedsInput): Promise<PrivilegeCheck> {
  const { pve, signal, version } = input;
  const grants = new Grants(pve, signal);
  if (isRealRoot(pve)) return { missing: [], notChecked: [], requirements: needs.requirements, gaps: [], grants };
  const asked = needs.requirements.flatMap((requirement) => [requirement, ...(requirement.instead ?? [])]);
  await grants.ask(asked.flatMap(({ paths }) => paths.map(({ path }) => path)));
  const tags = await checkTags(needs, grants, input);
  const requirements = [...needs.requirements, ...tags.requirements];
  const open = requirements.filter((requirement) => !grants.holds(requirement));
  const gaps = await withZones(open, grants, pve, signal);
  const named = gaps.length === 0 ? [] : await report({ requirements, gaps, grants, version }, input);
  const found = [...named, ...needs.rootOnly];
  const notChecked = [...tags.notChecked, ...(input.thorough ? await examine(input.stack, requirements, grants) : [])];
  // A release that nobody knows may have renamed what is asked for here: whoever demands it all the same never gets on.
  if (supportOf(version) === 'unknown') {
    return { missing: [], notChecked: [...found.map(doubted), ...notChecked], requirements, gaps, grants };
  }
  return { missing: found, notChecked, requirements, gaps, grants };
}

function doubted(problem: Diagnostic): Diagnostic {
  const detail = `${problem.detail}\nThis release of Proxmox VE is newer than all that Proxwright knows, so it may do without.`;
  return { ...problem, severity: 'warning', detail };
}

async function examine(
  stack: ResolvedStack,
  requirements: readonly Requirement[],
  grants: Grants,
): Promise<readonly Diagnostic[]> {
  const readings = readingsOf(stack, requirements);
  await grants.ask(readings.flatMap(({ paths }) => paths.map(({ path }) => path)));
  return notRead(readings, grants);
}

async function report(
  found: { requirements: readonly Requirement[]; gaps: readonly Requirement[]; grants: Grants; version: ServerVersion },
  { pve, signal }: CheckNeedsInput,
): Promise<Diagnostic[]> {
  // Whether something is granted above decides where a new entry belongs.
  const [roles, holder] = await Promise.all([
    pve.access.roles({ signal }),
    holderOf(pve, signal),
    found.grants.ask(found.gaps.some(({ paths: [{ path }] }) => path.startsWith('/vms')) ? ['/vms'] : []),
  ]);
  return missingPrivileges({ ...found, holder, roles: new Set(roles.map(({ roleid }) => roleid)) });
}

/** Whether a token is separated from its owner few tokens may read. */
export async function holderOf(pve: Pve, signal?: AbortSignal): Promise<Holder> {
  const { principal } = pve;
  const [user = principal, tokenId] = principal.split('!');
  if (tokenId === undefined) return { principal };
  try {
    const tokens = await pve.access.tokens(user, { signal });
    const isSeparated = tokens.find(({ tokenid }) => tokenid === tokenId)?.privsep;
    return { principal, ...(isSeparated !== undefined && { isSeparated }) };
  } catch (error) {
    if (!isFamily(error, 'auth')) throw error;
    return { principal };
  }
}

/** Reserved tags take a privilege of the datacenter's; which ones are reserved is not shown to everybody. */
async function checkTags(
  { tags }: PlanNeeds,
  grants: Grants,
  { pve, signal }: CheckNeedsInput,
): Promise<{ requirements: readonly Requirement[]; notChecked: readonly Diagnostic[] }> {
  if (tags.length > 0) await grants.ask(['/']);
  if (grants.on('/').has('Sys.Modify')) return { requirements: [], notChecked: [] };
  const { requirements, unknown } = await tagNeedsOf(tags, { pve, grants, signal });
  const [first] = unknown;
  if (!first) return { requirements, notChecked: [] };
  const names = [...new Set(unknown.flatMap((each) => each.tags))].join(', ');
  const notChecked: Diagnostic = {
    severity: 'warning',
    code: 'NOT_CHECKED',
    summary: 'Not checked',
    detail: `Whether the datacenter reserves tags (${names}) could not be checked: the token needs Sys.Audit on /.`,
    where: first.because.where,
  };
  return { requirements, notChecked: [notChecked] };
}
