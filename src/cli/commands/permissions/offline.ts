/** What `permissions` reports without a server, from the file and a release. */

import { nodeCommand } from '../../../base/text/node-command.ts';
import { assumedNeeds } from '../../../engine/privileges/assumed.ts';
import { pveumCommands } from '../../../engine/privileges/pveum.ts';
import type { PlanNeeds } from '../../../engine/privileges/requirements.ts';
import { type RoleSet, smallestRoles } from '../../../engine/privileges/roles.ts';
import type { ServerVersion } from '../../../pve/compatibility.ts';
import { connectionFromEnvironment } from '../../../pve/index.ts';
import { AlreadyShown, badOption, type CommandDeps } from '../../command.ts';
import type { OpenedStack } from '../../stack/open.ts';
import type { PermissionsReport } from '../../views/permissions.ts';
import { showProblems } from '../../views/view.ts';

export interface OfflineOptions {
  readonly lifecycle?: boolean;
  readonly pve: string;
  readonly name?: string;
  readonly for?: string;
}

export function offlineReport(
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
