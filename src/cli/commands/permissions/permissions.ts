/**
 * `proxwright permissions`: the smallest roles and ACL entries for a stack, as commands for an administrator or created with
 * an administrator's token; and which privileges the token lacks or has to spare today. With --pve it needs no server.
 */

import { nodeCommand } from '../../../base/text/node-command.ts';
import { shellWord } from '../../../base/text/shell.ts';
import { assumedNeeds } from '../../../engine/privileges/assumed.ts';
import { holderOf } from '../../../engine/privileges/check.ts';
import { Grants, tagNeedsOf } from '../../../engine/privileges/grants.ts';
import {
  granteesOf,
  grantRoles,
  type Holder,
  pveumCommands,
  pveumRemovals,
  roleChanges,
} from '../../../engine/privileges/pveum.ts';
import { type PlanNeeds, requirementsOf } from '../../../engine/privileges/requirements.ts';
import { compareWithGrants, type RoleSet, smallestRoles } from '../../../engine/privileges/roles.ts';
import { readSecret } from '../../../local/secret.ts';
import type { ServerVersion } from '../../../pve/compatibility.ts';
import { type AclEntry, connectionFromEnvironment, type Pve, parseToken } from '../../../pve/index.ts';
import { AlreadyShown, badOption, type CommandDeps, type ExitCode, type StackOptions } from '../../command.ts';
import { requireConsent } from '../../consent.ts';
import { connect } from '../../stack/connect.ts';
import { type OpenedStack, openStack } from '../../stack/open.ts';
import { tryPlan } from '../../stack/planning.ts';
import { type PermissionsReport, permissionsView } from '../../views/permissions.ts';
import { showProblems } from '../../views/view.ts';

export interface PermissionsOptions extends StackOptions {
  readonly lifecycle?: boolean;
  /** A release; no server is contacted. */
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

export async function runPermissions(options: PermissionsOptions, deps: CommandDeps): Promise<ExitCode> {
  const vms = entriesOn(options);
  if (options.for !== undefined && !/^[^@\s]+@[^@!\s]+(![^@!\s]+)?$/.test(options.for)) {
    throw badOption(
      '--for',
      `"${options.for}" names no user or token with its realm.`,
      "For example: --for 'deploy@pve!ci'",
    );
  }
  const opened = await openStack(options, deps);
  if (options.pve !== undefined) {
    if (options.apply) throw contradiction();
    permissionsView(deps).report(offlineReport({ ...options, pve: options.pve }, opened, vms, deps));
    return 0;
  }
  const pve = await connect(opened, deps);
  try {
    const holder = options.for === undefined ? await holderOf(pve) : { principal: options.for };
    const asked = { options, opened, vms, pve, holder };
    if (!options.apply) {
      permissionsView(deps).report(await serverReport({ ...asked, reader: pve }, deps));
      return 0;
    }
    return await apply(asked, deps);
  } finally {
    await pve.close();
  }
}

interface Asked {
  readonly options: PermissionsOptions;
  readonly opened: OpenedStack;
  readonly vms: 'each' | 'all';
  readonly pve: Pve;
  readonly holder: Holder;
}

/** Reads with the administrator's token, which sees what the token itself may not. */
async function apply(asked: Asked, deps: CommandDeps): Promise<ExitCode> {
  const { options, opened, holder } = asked;
  if (isAllPowerful(holder)) {
    deps.terminal.log('warn', ALL_POWERFUL);
    return 0;
  }
  const admin = await connect(opened, deps, { credentials: await adminCredentials(options, opened, deps) });
  try {
    return await carryOut(await serverReport({ ...asked, reader: admin }, deps), options, admin, deps);
  } finally {
    await admin.close();
  }
}

const isAllPowerful = (holder: Holder) => Object.keys(granteesOf(holder)).length === 0;

async function serverReport(
  { options, opened, vms, pve, holder, reader }: Asked & { readonly reader: Pve },
  deps: CommandDeps,
): Promise<PermissionsReport> {
  const { stack } = opened;
  const lifecycle = options.lifecycle === true;
  // A lifecycle also needs the templates that this plan would not clone.
  const replace = lifecycle ? stack.vms.map(({ address }) => address) : [];
  const { result, observed } = await tryPlan(opened, deps, reader, { replace });
  const { version } = observed;
  const { needs: plain, guesses } =
    result.ok && !lifecycle
      ? { needs: requirementsOf({ plan: result.plan, stack, observed, version }), guesses: [] }
      : assumed({ opened, version, lifecycle, observed }, deps);
  const tags = await tagNeedsOf(plain.tags, { pve: reader, grants: new Grants(reader) });
  const needs = { ...plain, requirements: [...plain.requirements, ...tags.requirements] };
  const serverRoles = await pve.access.roles();
  const known = serverRoles.find(({ roleid }) => roleid === 'Administrator')?.privs;
  const grants = new Grants(pve);
  const all = { version, vms, ...(options.name && { name: options.name }), ...(known && { known: new Set(known) }) };
  await grants.ask(['/', ...smallestRoles(needs.requirements, all).acl.map(({ path }) => path)]);
  // Where alternatives exist, prefer those that are already granted.
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
    notes: [
      ...(result.ok && !lifecycle && result.plan.steps.length === 0 ? [NOTHING] : []),
      ...guesses,
      ...(isRoot ? [ALL_POWERFUL] : tagNotes(tags.unknown)),
      ...(isRoot || guesses.length + tags.unknown.length === 0 ? [] : exactCommand(options, holder)),
    ],
    roles,
    commands: isRoot ? [] : pveumCommands(roles, holder, existing),
    ...(isOwn && { difference: compareWithGrants(roles, grants) }),
    removals: isOwn ? pveumRemovals(strayEntries(await pve.access.acl(), holder, roles)) : [],
  };
}

/** Not every token may see which tags the datacenter reserves. */
function tagNotes(unknown: PlanNeeds['tags']): string[] {
  if (unknown.length === 0) return [];
  const names = [...new Set(unknown.flatMap(({ tags }) => tags))].join(', ');
  return [
    `Whether the datacenter reserves tags (${names}) is not shown to this token. If it does, Sys.Modify on / is needed as well.`,
  ];
}

/** The token could not see everything; an administrator's token can. */
function exactCommand(options: PermissionsOptions, { principal }: Holder): string[] {
  if (options.for !== undefined || options.apply) return [];
  const command = `proxwright permissions${optionsOf(options)} --for ${shellWord(principal)}`;
  return [`For an exact answer, use an administrator's token: PROXMOX_VE_API_TOKEN='root@pam!admin=…' ${command}`];
}

/** The options that were typed, for a command to type next. */
function optionsOf({ file, lifecycle, name, vms }: PermissionsOptions): string {
  return [
    ...(file === undefined ? [] : [` --file ${file}`]),
    ...(lifecycle ? [' --lifecycle'] : []),
    ...(name === undefined ? [] : [` --name ${name}`]),
    ...(vms === undefined ? [] : [` --vms ${vms}`]),
  ].join('');
}

const ALL_POWERFUL =
  "root@pam has all privileges, and so have its tokens without privilege separation. For another token: --for 'user@realm!token'";

const NOTHING = 'The plan is empty, so it needs no privileges. For everything the VMs ever need: --lifecycle';

/** Entries of the token and its user that the new ones replace. Not every token may list entries. */
function strayEntries(entries: readonly AclEntry[], { principal }: Holder, { acl }: RoleSet): AclEntry[] {
  const [user] = principal.split('!');
  const isOurs = ({ path, roleid }: AclEntry) => acl.some((each) => each.path === path && each.role === roleid);
  return entries.filter((entry) => (entry.ugid === principal || entry.ugid === user) && !isOurs(entry));
}

async function carryOut(
  report: PermissionsReport,
  options: PermissionsOptions,
  admin: Pve,
  deps: CommandDeps,
): Promise<ExitCode> {
  if (report.commands.length === 0) {
    for (const note of report.notes) deps.terminal.log('warn', note);
    return 0;
  }
  const changes = await roleChanges(admin, report.roles);
  const view = permissionsView(deps);
  view.changes(changes, report);
  for (const note of report.notes) deps.terminal.log('warn', note);
  await requireConsent(deps, options, `permissions${optionsOf(options)} --apply`, '\nCreate these roles and entries?');
  await grantRoles(admin, report.roles, changes, report.holder);
  view.applied(changes, report);
  return 0;
}

async function adminCredentials(options: PermissionsOptions, { directory }: OpenedStack, deps: CommandDeps) {
  const { adminTokenEnv = ADMIN_TOKEN, adminTokenFile } = options;
  const reference = adminTokenFile === undefined ? { env: adminTokenEnv } : { file: adminTokenFile };
  const where = { file: adminTokenFile === undefined ? '--admin-token-env' : '--admin-token-file' };
  const sources = {
    environment: deps.environment,
    directory: adminTokenFile === undefined ? directory : deps.directory,
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
    '--pve and --apply cannot be used together.',
    'Omit --pve: the server reports its release.',
  );

interface OfflineOptions {
  readonly lifecycle?: boolean;
  readonly pve: string;
  readonly name?: string;
  readonly for?: string;
}

/** From the file and a release alone. */
function offlineReport(
  options: OfflineOptions,
  opened: OpenedStack,
  vms: 'each' | 'all',
  deps: CommandDeps,
): PermissionsReport {
  const { stack } = opened;
  const version = { version: options.pve };
  if (!/^\d+\.\d+(\.\d+)?$/.test(options.pve)) throw badRelease(options.pve);
  const { needs, guesses } = assumed({ opened, version, lifecycle: options.lifecycle === true }, deps);
  const roles = smallestRoles(needs.requirements, { version, vms, ...(options.name && { name: options.name }) });
  const principal = options.for ?? knownPrincipal(deps);
  const holder = { principal: principal ?? PLACEHOLDER };
  const scope = options.lifecycle ? 'lifecycle' : 'plan';
  return {
    stack: stack.name,
    scope,
    version: options.pve,
    holder,
    needs,
    notes: [
      ...guesses,
      ...(scope === 'lifecycle' ? moveNotes(roles) : []),
      ...(principal === undefined
        ? [`Name the token with --for 'user@realm!token'; ${PLACEHOLDER} is a placeholder.`]
        : []),
    ],
    roles,
    commands: pveumCommands(roles, holder),
    removals: [],
  };
}

/** Without a server it is unknown whether there are nodes beyond those of the file. */
function moveNotes({ roles, acl }: RoleSet): string[] {
  if (roles.some(({ privileges }) => privileges.includes('VM.Migrate'))) return [];
  const role = acl.find(({ path, role: name }) => /^\/(vms|pool)\b/.test(path) && !name.endsWith('-Template'))?.role;
  return role === undefined
    ? []
    : [
        `To be able to move VMs to another node: ${nodeCommand('pveum role modify', [role], { append: 1, privs: 'VM.Migrate' })}`,
      ];
}

const PLACEHOLDER = 'deploy@pve!proxwright';

/** The id of the token in the environment, without its secret. */
function knownPrincipal(deps: CommandDeps): string | undefined {
  const { credentials } = connectionFromEnvironment(deps.environment);
  return credentials?.kind === 'token' ? credentials.tokenId : undefined;
}

/** The needs of a stack that does not exist yet. */
export function assumed(
  input: {
    readonly opened: OpenedStack;
    readonly version: ServerVersion;
    readonly lifecycle: boolean;
    readonly observed?: Parameters<typeof assumedNeeds>[0]['observed'];
  },
  deps: CommandDeps,
): { needs: PlanNeeds; guesses: readonly string[] } {
  const { opened, version, lifecycle, observed } = input;
  const found = assumedNeeds({ stack: opened.stack, version, lifecycle, observed, now: deps.clock.now() });
  if (found.ok) return found;
  showProblems(found.problems, deps);
  throw new AlreadyShown();
}

const badRelease = (text: string) =>
  badOption('--pve', `"${text}" is not a release of Proxmox VE.`, 'For example: --pve 9.2');
