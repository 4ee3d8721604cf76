/**
 * `proxwright permissions`: the smallest roles and entries for a stack, as commands for an administrator, as JSON, or carried
 * out with an administrator's token; and what the token has too little or too much of today. With --pve it needs no server.
 */
import { holderOf } from '../../engine/privileges/check.ts';
import { grantRoles, roleChanges } from '../../engine/privileges/grant-roles.ts';
import { Grants } from '../../engine/privileges/grants.ts';
import { granteesOf, type Holder, pveumCommands, pveumRemovals } from '../../engine/privileges/pveum.ts';
import { type PlanNeeds, requirementsOf } from '../../engine/privileges/requirements.ts';
import { compareWithGrants, type RoleSet, smallestRoles } from '../../engine/privileges/roles.ts';
import { tagNeedsOf } from '../../engine/privileges/tags.ts';
import { readSecret } from '../../local/secret.ts';
import { type AclEntry, type Pve, parseToken } from '../../pve/index.ts';
import type { CommandHost, ExitCode } from '../command-host.ts';
import { connect } from '../connect.ts';
import { requireConsent } from '../consent.ts';
import type { StackHost } from '../opened-stack.ts';
import type { PermissionsReport } from '../permissions-report.ts';
import { look } from '../read-only-plan.ts';
import { openStack } from '../stack-host.ts';
import type { StackOptions } from '../stack-options.ts';
import { renderPermissions, renderRoleChanges } from '../views/permissions-view.ts';
import { assumed, badOption, offlineReport } from './permissions-offline.ts';

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
    const holder = options.for === undefined ? await holderOf(pve) : { principal: options.for };
    const asked = { options, stackHost, vms, pve, holder };
    if (!options.apply) {
      show(await serverReport({ ...asked, reader: pve }, host), host);
      return 0;
    }
    return await apply(asked, host);
  } finally {
    await pve.close();
  }
}

interface Asked {
  readonly options: PermissionsOptions;
  readonly stackHost: StackHost;
  readonly vms: 'each' | 'all';
  readonly pve: Pve;
  readonly holder: Holder;
}

/** The administrator also reads what the token itself may not see. */
async function apply(asked: Asked, host: CommandHost): Promise<ExitCode> {
  const { options, stackHost, holder } = asked;
  if (isAllPowerful(holder)) {
    host.terminal.log('warn', ALL_POWERFUL);
    return 0;
  }
  const admin = await connect(stackHost, host, { credentials: await adminCredentials(options, stackHost, host) });
  try {
    return await carryOut(await serverReport({ ...asked, reader: admin }, host), options, admin, host);
  } finally {
    await admin.close();
  }
}

const isAllPowerful = (holder: Holder) => Object.keys(granteesOf(holder)).length === 0;

function show(report: PermissionsReport, host: CommandHost): void {
  if (host.json) host.terminal.result(JSON.stringify(jsonOf(report)));
  else for (const line of renderPermissions(report)) host.terminal.result(line);
  for (const problem of report.needs.rootOnly) host.terminal.diagnostic({ ...problem, severity: 'warning' });
}

function jsonOf({ needs, holder, roles, ...rest }: PermissionsReport) {
  const { principal } = holder;
  return { ...rest, principal, ...roles, requirements: needs.requirements, rootOnly: needs.rootOnly };
}

async function serverReport(
  { options, stackHost, vms, pve, holder, reader }: Asked & { readonly reader: Pve },
  host: CommandHost,
): Promise<PermissionsReport> {
  const { stack } = stackHost;
  const lifecycle = options.lifecycle === true;
  // For a whole life templates are read as well from which nothing is to be made now.
  const replace = lifecycle ? stack.vms.map(({ address }) => address) : [];
  const { result, observed } = await look(stackHost, host, reader, { replace });
  const { version } = observed;
  const { needs: plain, notes } =
    result.ok && !lifecycle
      ? {
          needs: requirementsOf({ plan: result.plan, stack, observed, version }),
          notes: NOTHING(result.plan.steps.length),
        }
      : assumed({ stackHost, version, lifecycle, observed }, host);
  const tags = await tagNeedsOf(plain.tags, { pve: reader, grants: new Grants(reader) });
  const needs = { ...plain, requirements: [...plain.requirements, ...tags.requirements] };
  const serverRoles = await pve.access.roles();
  const known = serverRoles.find(({ roleid }) => roleid === 'Administrator')?.privs;
  const grants = new Grants(pve);
  const all = { version, vms, ...(options.name && { name: options.name }), ...(known && { known: new Set(known) }) };
  await grants.ask(['/', ...smallestRoles(needs.requirements, all).acl.map(({ path }) => path)]);
  // Of alternatives the ones that are granted already.
  const roles = smallestRoles(needs.requirements, { ...all, granted: grants });
  const isOwn = holder.principal === pve.principal;
  const isRoot = isAllPowerful(holder);
  const existing = new Set(serverRoles.map(({ roleid }) => roleid));
  return {
    stack: stack.name,
    scope: lifecycle ? 'lifecycle' : 'plan',
    version: version.version,
    holder,
    needs,
    notes: isRoot ? [...notes, ALL_POWERFUL] : exactly([...notes, ...tagNotes(tags.unknown)], options, holder),
    roles,
    commands: isRoot ? [] : pveumCommands(roles, holder, existing),
    ...(isOwn && { difference: compareWithGrants(roles, grants) }),
    removals: isOwn ? pveumRemovals(strayEntries(await pve.access.acl(), holder, roles)) : [],
  };
}

/** What the datacenter reserves is not shown to everybody. */
function tagNotes(unknown: PlanNeeds['tags']): string[] {
  if (unknown.length === 0) return [];
  const names = [...new Set(unknown.flatMap(({ tags }) => tags))].join(', ');
  return [
    `Whether the datacenter reserves tags (${names}) is not shown to this token. If it does, they take Sys.Modify on / as well.`,
  ];
}

/** Who sees everything need not guess. */
function exactly(notes: readonly string[], options: PermissionsOptions, { principal }: Holder): readonly string[] {
  const isGuessed = notes.some((note) => /could not be read|not shown/.test(note));
  if (!isGuessed || options.for !== undefined || options.apply) return notes;
  const command = `proxwright permissions${optionsOf(options)} --for '${principal}'`;
  return [...notes, `An administrator's token is told exactly: PROXMOX_VE_API_TOKEN='root@pam!admin=…' ${command}`];
}

/** As they were typed, for a command that is to be typed next. */
function optionsOf({ file, lifecycle, name, vms }: PermissionsOptions): string {
  return [
    ...(file === undefined ? [] : [` --file ${file}`]),
    ...(lifecycle ? [' --lifecycle'] : []),
    ...(name === undefined ? [] : [` --name ${name}`]),
    ...(vms === undefined ? [] : [` --vms ${vms}`]),
  ].join('');
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

async function carryOut(
  report: PermissionsReport,
  options: PermissionsOptions,
  admin: Pve,
  host: CommandHost,
): Promise<ExitCode> {
  if (report.commands.length === 0) {
    for (const note of report.notes) host.terminal.log('warn', note);
    return 0;
  }
  const changes = await roleChanges(admin, report.roles);
  if (!host.json) for (const line of renderRoleChanges(changes, report)) host.terminal.result(line);
  for (const note of report.notes) host.terminal.log('warn', note);
  await requireConsent(host, options, `permissions${optionsOf(options)} --apply`, '\nMake these roles and entries?');
  await grantRoles(admin, report.roles, changes, report.holder);
  if (host.json) host.terminal.result(JSON.stringify({ ...jsonOf(report), applied: changes }));
  host.terminal.success(`${report.holder.principal} has what ${report.stack} needs. Look: proxwright doctor`);
  return 0;
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

const contradiction = () =>
  badOption(
    '--pve --apply',
    'Without a server nothing can be applied.',
    'Leave --pve out: the server says its release.',
  );
