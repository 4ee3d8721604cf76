/**
 * `proxwright permissions`: the smallest roles and entries for a stack, as commands for an administrator, as JSON, or carried
 * out with an administrator's token; and what the token has too little or too much of today. With --pve it needs no server.
 */
import { SpecError } from '../../base/errors.ts';
import type { ServerVersion } from '../../engine/compatibility.ts';
import { assumedNeeds } from '../../engine/privileges/assumed.ts';
import { holderOf } from '../../engine/privileges/check.ts';
import { grantRoles, roleChanges } from '../../engine/privileges/grant-roles.ts';
import { Grants } from '../../engine/privileges/grants.ts';
import { granteesOf, type Holder, pveumCommands, pveumRemovals } from '../../engine/privileges/pveum.ts';
import type { PlanNeeds } from '../../engine/privileges/requirements.ts';
import { requirementsOf } from '../../engine/privileges/requirements.ts';
import { compareWithGrants, type RoleSet, smallestRoles } from '../../engine/privileges/roles.ts';
import { readSecret } from '../../local/secret.ts';
import { type AclEntry, connectionFromEnvironment, type Pve, parseToken } from '../../pve/index.ts';
import { AlreadyShown, type CommandHost, type ExitCode } from '../command-host.ts';
import { connect } from '../connect.ts';
import { requireConsent } from '../consent.ts';
import type { StackHost } from '../opened-stack.ts';
import type { PermissionsReport } from '../permissions-report.ts';
import { look } from '../read-only-plan.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';
import { renderPermissions, renderRoleChanges } from '../views/permissions-view.ts';

export interface PermissionsOptions extends StackOptions {
  readonly lifecycle?: boolean;
  /** A release: no server is asked. */
  readonly pve?: string;
  readonly name?: string;
  readonly vms?: string;
  readonly for?: string;
  readonly apply?: boolean;
  readonly yes?: boolean;
  readonly adminTokenEnv?: string;
  readonly adminTokenFile?: string;
}

const ADMIN_TOKEN = 'PROXMOX_VE_ADMIN_TOKEN';

export async function runPermissions(options: PermissionsOptions, host: CommandHost): Promise<ExitCode> {
  const vms = entriesOn(options);
  const stackHost = await openStack(options, host);
  if (options.pve !== undefined) {
    if (options.apply) throw contradiction();
    show(offlineReport({ ...options, pve: options.pve }, stackHost, vms, host), host);
    return 0;
  }
  const pve = await connect(stackHost, host);
  try {
    const report = await serverReport(options, stackHost, vms, pve, host);
    if (!options.apply) {
      show(report, host);
      return 0;
    }
    return await carryOut(report, options, stackHost, host);
  } finally {
    await pve.close();
  }
}

function show(report: PermissionsReport, host: CommandHost): void {
  if (host.json) host.terminal.result(JSON.stringify(jsonOf(report)));
  else for (const line of renderPermissions(report)) host.terminal.result(line);
  for (const problem of report.needs.rootOnly) host.terminal.diagnostic({ ...problem, severity: 'warning' });
}

function jsonOf({ needs, holder, roles, ...rest }: PermissionsReport) {
  const { principal } = holder;
  return { ...rest, principal, ...roles, requirements: needs.requirements, rootOnly: needs.rootOnly };
}

function offlineReport(
  options: PermissionsOptions & { readonly pve: string },
  stackHost: StackHost,
  vms: 'each' | 'all',
  host: CommandHost,
): PermissionsReport {
  const { stack } = stackHost;
  const version = { version: options.pve };
  if (!/^\d+\.\d+(\.\d+)?$/.test(options.pve)) throw badRelease(options.pve);
  const { needs, notes } = assumed({ stackHost, version, lifecycle: options.lifecycle === true }, host);
  const roles = smallestRoles(needs.requirements, { version, vms, ...(options.name && { name: options.name }) });
  const holder = { principal: options.for ?? knownPrincipal(host) ?? PLACEHOLDER };
  const isUnknown = holder.principal === PLACEHOLDER;
  const scope = options.lifecycle ? 'lifecycle' : 'plan';
  return {
    stack: stack.name,
    scope,
    version: options.pve,
    holder,
    needs,
    notes: isUnknown
      ? [...notes, `Name the token it is for: --for 'user@realm!token'. ${PLACEHOLDER} stands for it.`]
      : notes,
    roles,
    commands: pveumCommands(roles, holder),
    removals: [],
  };
}

const PLACEHOLDER = 'deploy@pve!proxwright';

/** Whose token is in the environment; the secret in it is nobody's business here. */
function knownPrincipal(host: CommandHost): string | undefined {
  const { credentials } = connectionFromEnvironment(host.environment);
  return credentials?.kind === 'token' ? credentials.tokenId : undefined;
}

async function serverReport(
  options: PermissionsOptions,
  stackHost: StackHost,
  vms: 'each' | 'all',
  pve: Pve,
  host: CommandHost,
): Promise<PermissionsReport> {
  const { stack } = stackHost;
  const { result, observed } = await look(stackHost, host, pve, {});
  const { version } = observed;
  const lifecycle = options.lifecycle === true;
  const { needs, notes } =
    result.ok && !lifecycle
      ? {
          needs: requirementsOf({ plan: result.plan, stack, observed, version }),
          notes: NOTHING(result.plan.steps.length),
        }
      : assumed({ stackHost, version, lifecycle, observed }, host);
  const holder = options.for === undefined ? await holderOf(pve) : { principal: options.for };
  const serverRoles = await pve.access.roles();
  const known = serverRoles.find(({ roleid }) => roleid === 'Administrator')?.privs;
  const grants = new Grants(pve);
  const all = { version, vms, ...(options.name && { name: options.name }), ...(known && { known: new Set(known) }) };
  await grants.ask(['/', ...smallestRoles(needs.requirements, all).acl.map(({ path }) => path)]);
  // Of alternatives the ones that are granted already.
  const roles = smallestRoles(needs.requirements, { ...all, granted: grants });
  const isOwn = holder.principal === pve.principal;
  const isRoot = Object.keys(granteesOf(holder)).length === 0;
  const existing = new Set(serverRoles.map(({ roleid }) => roleid));
  return {
    stack: stack.name,
    scope: lifecycle ? 'lifecycle' : 'plan',
    version: version.version,
    holder,
    needs,
    notes: isRoot ? [...notes, ALL_POWERFUL] : notes,
    roles,
    commands: isRoot ? [] : pveumCommands(roles, holder, existing),
    ...(isOwn && { difference: compareWithGrants(roles, grants) }),
    removals: isOwn ? pveumRemovals(strayEntries(await pve.access.acl(), holder, roles)) : [],
  };
}

const ALL_POWERFUL =
  "root@pam may do everything, and so may its tokens without privilege separation. For another one: --for 'user@realm!token'";

const NOTHING = (steps: number): readonly string[] =>
  steps > 0 ? [] : ['The plan has nothing to do, so it needs nothing. For the whole life of the VMs: --lifecycle'];

/** Entries of the token and its user that the new ones replace; only some tokens are shown any. */
function strayEntries(entries: readonly AclEntry[], { principal }: Holder, { acl }: RoleSet): AclEntry[] {
  const [user] = principal.split('!');
  const isOurs = ({ path, roleid }: AclEntry) => acl.some((each) => each.path === path && each.role === roleid);
  return entries.filter((entry) => (entry.ugid === principal || entry.ugid === user) && !isOurs(entry));
}

function assumed(
  input: {
    readonly stackHost: StackHost;
    readonly version: ServerVersion;
    readonly lifecycle: boolean;
    readonly observed?: Parameters<typeof assumedNeeds>[0]['observed'];
  },
  host: CommandHost,
): { needs: PlanNeeds; notes: readonly string[] } {
  const { stackHost, version, lifecycle, observed } = input;
  const found = assumedNeeds({ stack: stackHost.stack, version, lifecycle, observed, now: host.clock.now() });
  if (found.ok) return found;
  for (const problem of found.problems) host.terminal.diagnostic(problem);
  throw new AlreadyShown();
}

async function carryOut(
  report: PermissionsReport,
  options: PermissionsOptions,
  stackHost: StackHost,
  host: CommandHost,
): Promise<ExitCode> {
  if (report.commands.length === 0) {
    for (const note of report.notes) host.terminal.log('warn', note);
    return 0;
  }
  const admin = await connect(stackHost, host, { credentials: await adminCredentials(options, stackHost, host) });
  try {
    const changes = await roleChanges(admin, report.roles);
    if (!host.json) for (const line of renderRoleChanges(changes, report)) host.terminal.result(line);
    await requireConsent(host, options, 'permissions --apply', '\nMake these roles and entries?');
    await grantRoles(admin, report.roles, changes, report.holder);
    if (host.json) host.terminal.result(JSON.stringify({ ...jsonOf(report), applied: changes }));
    host.terminal.success(`${report.holder.principal} has what ${report.stack} needs. Look: proxwright doctor`);
    return 0;
  } finally {
    await admin.close();
  }
}

async function adminCredentials(options: PermissionsOptions, { directory }: StackHost, host: CommandHost) {
  const { adminTokenEnv = ADMIN_TOKEN, adminTokenFile } = options;
  const reference = adminTokenFile === undefined ? { env: adminTokenEnv } : { file: adminTokenFile };
  const where = { file: adminTokenFile === undefined ? '--admin-token-env' : '--admin-token-file' };
  const sources = {
    environment: host.environment,
    directory: adminTokenFile === undefined ? directory : host.directory,
  };
  return parseToken((await readSecret(reference, sources, where)).reveal());
}

function entriesOn({ vms, lifecycle }: PermissionsOptions): 'each' | 'all' {
  if (vms === undefined) return lifecycle ? 'all' : 'each';
  if (vms === 'each' || vms === 'all') return vms;
  throw badOption('--vms', `"${vms}" is neither each nor all.`, 'For example: --vms all');
}

const badRelease = (text: string) =>
  badOption('--pve', `"${text}" is not a release of Proxmox VE.`, 'For example: --pve 9.2');

const contradiction = () =>
  badOption(
    '--pve --apply',
    'Without a server nothing can be applied.',
    'Leave --pve out: the server says its release.',
  );

function badOption(file: string, detail: string, hint: string): SpecError {
  return new SpecError({ code: 'BAD_VALUE', where: { file }, detail, hint });
}
