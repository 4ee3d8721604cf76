/** What `permissions` says without a server: what is known is the file and a release. */
import { ProxwrightError } from '../../base/errors.ts';
import type { ServerVersion } from '../../engine/compatibility.ts';
import { assumedNeeds } from '../../engine/privileges/assumed.ts';
import { pveumCommands } from '../../engine/privileges/pveum.ts';
import type { PlanNeeds } from '../../engine/privileges/requirements.ts';
import { type RoleSet, smallestRoles } from '../../engine/privileges/roles.ts';
import { connectionFromEnvironment } from '../../pve/index.ts';
import { AlreadyShown, type CommandHost } from '../command-host.ts';
import type { StackHost } from '../opened-stack.ts';
import type { PermissionsReport } from '../permissions-report.ts';

export interface OfflineOptions {
  readonly lifecycle?: boolean;
  readonly pve: string;
  readonly name?: string;
  readonly for?: string;
}

export function offlineReport(
  options: OfflineOptions,
  stackHost: StackHost,
  vms: 'each' | 'all',
  host: CommandHost,
): PermissionsReport {
  const { stack } = stackHost;
  const version = { version: options.pve };
  if (!/^\d+\.\d+(\.\d+)?$/.test(options.pve)) throw badRelease(options.pve);
  const { needs, notes } = assumed({ stackHost, version, lifecycle: options.lifecycle === true }, host);
  const roles = smallestRoles(needs.requirements, { version, vms, ...(options.name && { name: options.name }) });
  const principal = options.for ?? knownPrincipal(host);
  const holder = { principal: principal ?? PLACEHOLDER };
  const scope = options.lifecycle ? 'lifecycle' : 'plan';
  return {
    stack: stack.name,
    scope,
    version: options.pve,
    holder,
    needs,
    notes: [
      ...notes,
      ...(scope === 'lifecycle' ? moveNotes(roles) : []),
      ...(principal === undefined
        ? [`Name the token it is for: --for 'user@realm!token'. ${PLACEHOLDER} stands for it.`]
        : []),
    ],
    roles,
    commands: pveumCommands(roles, holder),
    removals: [],
  };
}

/** Without a server nobody knows whether there is another node than the file's. */
function moveNotes({ roles, acl }: RoleSet): string[] {
  if (roles.some(({ privileges }) => privileges.includes('VM.Migrate'))) return [];
  const role = acl.find(({ path, role: name }) => /^\/(vms|pool)\b/.test(path) && !name.endsWith('-Template'))?.role;
  return role === undefined
    ? []
    : [`To move VMs to another node one day: pveum role modify ${role} --append 1 --privs VM.Migrate`];
}

const PLACEHOLDER = 'deploy@pve!proxwright';

/** Whose token is in the environment; the secret in it is nobody's business here. */
function knownPrincipal(host: CommandHost): string | undefined {
  const { credentials } = connectionFromEnvironment(host.environment);
  return credentials?.kind === 'token' ? credentials.tokenId : undefined;
}

/** As if nothing of the stack existed. */
export function assumed(
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

const badRelease = (text: string) =>
  badOption('--pve', `"${text}" is not a release of Proxmox VE.`, 'For example: --pve 9.2');

export function badOption(file: string, detail: string, hint: string): ProxwrightError {
  return new ProxwrightError({ code: 'BAD_VALUE', where: { file }, detail, hint });
}
