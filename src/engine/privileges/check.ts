/**
 * Checks before an apply whether the token may do what the plan does: compares what the steps need with what the server
 * grants. What cannot be checked is reported and never counts as granted.
 */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { isFamily } from '../../base/errors.ts';
import type { Plan } from '../../kinds/change.ts';
import { whereOf } from '../../kinds/fields/positions.ts';
import type { Observed } from '../../kinds/observed.ts';
import { type AclPath, LOCAL_ZONE, type OneOf } from '../../kinds/privileges/need.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import type { Pve } from '../../pve/client.ts';
import { type ServerVersion, supportOf } from '../../pve/compatibility.ts';
import { Grants, isRealRoot, tagNeedsOf } from './grants.ts';
import type { Holder } from './pveum.ts';
import { missingPrivileges } from './report.ts';
import type { Requirement } from './requirement.ts';
import { type PlanNeeds, requirementsOf } from './requirements.ts';

interface CheckNeedsInput {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  readonly version: ServerVersion;
  readonly signal?: AbortSignal | undefined;
  /** Also checks what only the doctor reads. */
  readonly thorough?: boolean;
}

interface CheckPrivilegesInput extends CheckNeedsInput {
  readonly plan: Plan;
  readonly observed: Observed;
}

export interface PrivilegeCheck {
  /** Errors that prevent the plan, with the commands that fix them. */
  readonly missing: readonly Diagnostic[];
  /** What could not be checked, and which privilege that takes. */
  readonly notChecked: readonly Diagnostic[];
  readonly requirements: readonly Requirement[];
  /** Requirements that the token does not meet. */
  readonly gaps: readonly Requirement[];
  readonly grants: Grants;
}

export function checkPrivileges(input: CheckPrivilegesInput): Promise<PrivilegeCheck> {
  const { guests, permissions } = input.observed;
  const grants = new Grants(input.pve, input.signal, { isAbsent: (vmid) => !guests.has(vmid), overview: permissions });
  return checkNeeds(requirementsOf(input), input, grants);
}

export async function checkNeeds(
  needs: PlanNeeds,
  input: CheckNeedsInput,
  grants = new Grants(input.pve, input.signal),
): Promise<PrivilegeCheck> {
  const { pve, signal, version } = input;
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
  // An unknown release may have renamed privileges; requiring the old names would block every plan.
  if (supportOf(version) === 'unknown') {
    return { missing: [], notChecked: [...found.map(doubted), ...notChecked], requirements, gaps, grants };
  }
  return { missing: found, notChecked, requirements, gaps, grants };
}

function doubted(problem: Diagnostic): Diagnostic {
  const detail = `${problem.detail}\nProxwright does not know this release of Proxmox VE, which may not need this.`;
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
  // What is granted on /vms decides where a new entry belongs.
  const [roles, holder] = await Promise.all([
    pve.access.roles({ signal }),
    holderOf(pve, signal),
    found.grants.ask(found.gaps.some(({ paths: [{ path }] }) => path.startsWith('/vms')) ? ['/vms'] : []),
  ]);
  return missingPrivileges({ ...found, holder, roles: new Set(roles.map(({ roleid }) => roleid)) });
}

/** Few tokens may read whether they have privilege separation. */
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

/** Reserved tags need Sys.Modify on `/`; not every token may read which tags are reserved. */
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
    facts: { needs: 'Sys.Audit on /' },
  };
  return { requirements, notChecked: [notChecked] };
}

/** The usual names of bridges; any other name may be a VNet. */
const PLAIN_BRIDGE = /^vmbr\d+$/;

/**
 * Adds the paths of all visible zones to requirements on networks that may be VNets. A VNet is below its own zone, and only
 * a token that may read the network knows which one that is.
 */
export async function withZones(
  gaps: readonly Requirement[],
  grants: Grants,
  pve: Pve,
  signal: AbortSignal | undefined,
): Promise<Requirement[]> {
  if (!gaps.some(mayBeVnet)) return [...gaps];
  const zones = await visibleZones(pve, signal);
  const widened = gaps.map((gap): Requirement => {
    if (!mayBeVnet(gap)) return gap;
    const [{ path }] = gap.paths;
    const others = zones.map((zone): AclPath => ({ path: path.replace(LOCAL_ZONE, `/sdn/zones/${zone}`) }));
    return { ...gap, paths: [...gap.paths, ...others] };
  });
  await grants.ask(widened.flatMap(({ paths }) => paths.map(({ path }) => path)));
  return widened.filter((gap) => !grants.holds(gap));
}

function mayBeVnet({ paths: [{ path }] }: Requirement): boolean {
  const bridge = path.startsWith(`${LOCAL_ZONE}/`) ? path.slice(LOCAL_ZONE.length + 1).split('/')[0] : undefined;
  return bridge !== undefined && !PLAIN_BRIDGE.test(bridge);
}

/** From the token's permissions and from the list of resources. */
async function visibleZones(pve: Pve, signal: AbortSignal | undefined): Promise<string[]> {
  const [permissions, resources] = await Promise.all([
    pve.access.permissions({}, { signal }),
    pve.cluster.resources({}, { signal }),
  ]);
  const fromEntries = Object.keys(permissions).flatMap((path) => /^\/sdn\/zones\/([^/]+)/.exec(path)?.[1] ?? []);
  const fromResources = resources.flatMap(
    ({ id }) => /^(?:sdn\/[^/]+|network\/[^/]+\/zone)\/(.+)$/.exec(id)?.[1] ?? [],
  );
  return [...new Set([...fromEntries, ...fromResources])].filter((zone) => !LOCAL_ZONE.endsWith(`/${zone}`));
}

interface Reading extends Requirement {
  /** What stays unknown without it: `Memory and load of node pve1`. */
  readonly what: string;
}

/** What the doctor reads beyond what an apply needs, also on the storages of `requirements`. A role can include it. */
export function readingsOf(stack: ResolvedStack, requirements: readonly Requirement[]): Reading[] {
  const [first] = stack.vms;
  const because: Requirement['because'] = [{ where: first ? whereOf(first) : {}, step: 'checks' }];
  const reading = (what: string, privileges: OneOf<string>, path: AclPath): Reading => ({
    what,
    privileges,
    paths: [path],
    because,
  });
  const nodes = new Set(stack.vms.map(({ fields }) => fields.node));
  const pools = new Set(stack.vms.flatMap(({ fields }) => fields.pool ?? []));
  const storages = new Set(
    requirements.flatMap(({ paths }) => paths.flatMap(({ path }) => /^\/storage\/(.+)$/.exec(path)?.[1] ?? [])),
  );
  return [
    reading('Names, ids and addresses of other VMs', ['VM.Audit'], { path: '/vms', below: true }),
    reading('Quorum, HA and settings of the datacenter', ['Sys.Audit'], { path: '/' }),
    reading('Bridges other than those that the token may use', ['SDN.Audit', 'SDN.Use'], {
      path: LOCAL_ZONE,
      below: true,
    }),
    ...[...nodes].map((node) => reading(`Memory and load of node ${node}`, ['Sys.Audit'], { path: `/nodes/${node}` })),
    ...[...storages].map((storage) =>
      reading(`Volumes on storage ${storage}`, ['Datastore.Audit'], { path: `/storage/${storage}` }),
    ),
    ...[...pools].map((pool) => reading(`Members of pool ${pool}`, ['Pool.Audit'], { path: `/pool/${pool}` })),
  ];
}

/** One warning for each reading that is not granted; their paths must have been asked before. */
function notRead(readings: readonly Reading[], grants: Pick<Grants, 'holds'>): Diagnostic[] {
  return readings
    .filter((reading) => !grants.holds(reading))
    .map(({ what, privileges, paths: [{ path }] }) => ({
      severity: 'warning',
      code: 'NOT_CHECKED',
      summary: 'Not checked',
      detail: `${what} could not be checked: the token needs ${privileges[0]} on ${path}.`,
      facts: { needs: `${privileges[0]} on ${path}` },
    }));
}
