/** Roles and ACL entries: for people a script for an administrator, with comments; for programs the report. */
import { counted } from '../../base/values/units.ts';
import type { Holder, RoleChange } from '../../engine/privileges/pveum.ts';
import type { Because, Requirement } from '../../engine/privileges/requirement.ts';
import type { PlanNeeds } from '../../engine/privileges/requirements.ts';
import type { PathPrivileges, RoleDifference, RoleSet } from '../../engine/privileges/roles.ts';
import type { Terminal } from '../terminal.ts';
import { chooseView, type ViewDeps } from './view.ts';

export interface PermissionsReport {
  readonly stack: string;
  readonly scope: 'plan' | 'lifecycle';
  readonly version: string;
  readonly holder: Holder;
  readonly needs: PlanNeeds;
  readonly notes: readonly string[];
  readonly roles: RoleSet;
  /** For an administrator to type. */
  readonly commands: readonly string[];
  /** Compared with what the token has today; absent without a server. */
  readonly difference?: RoleDifference;
  /** Commands that remove unneeded entries, if those are visible. */
  readonly removals: readonly string[];
}

export interface PermissionsView {
  report(report: PermissionsReport): void;
  /** Before the user is asked. */
  changes(changes: readonly RoleChange[], report: PermissionsReport): void;
  applied(changes: readonly RoleChange[], report: PermissionsReport): void;
}

export function permissionsView(deps: ViewDeps): PermissionsView {
  return chooseView<PermissionsView>(deps, {
    human: ({ terminal, print }) => ({
      report: (report) => {
        print(renderPermissions(report));
        warnRootOnly(report, terminal);
      },
      changes: (changes, report) => print(renderRoleChanges(changes, report)),
      applied: (_changes, report) => confirm(report, terminal),
    }),
    json: ({ terminal, print }) => ({
      report: (report) => {
        print(jsonOf(report));
        warnRootOnly(report, terminal);
      },
      changes: () => {},
      applied: (changes, report) => {
        print({ ...jsonOf(report), applied: changes });
        confirm(report, terminal);
      },
    }),
  });
}

function warnRootOnly({ needs }: PermissionsReport, terminal: Terminal): void {
  for (const problem of needs.rootOnly) terminal.diagnostic({ ...problem, severity: 'warning' });
}

function confirm({ holder, stack }: PermissionsReport, terminal: Terminal): void {
  terminal.success(`${holder.principal} now has the privileges that ${stack} needs. To check: proxwright doctor`);
}

function jsonOf({ needs, holder, roles, ...rest }: PermissionsReport) {
  const { principal } = holder;
  return { ...rest, principal, ...roles, requirements: needs.requirements, rootOnly: needs.rootOnly };
}

const SCOPES = { plan: 'for the next apply', lifecycle: 'for everything its VMs ever need' } as const;

function renderPermissions(report: PermissionsReport): string[] {
  const { stack, scope, version, holder, notes, commands, needs } = report;
  const strong = needs.requirements.filter((requirement) => requirement.strong);
  return [
    `# Smallest roles of ${holder.principal} for stack ${stack} on Proxmox VE ${version}, ${SCOPES[scope]}.`,
    '# An administrator runs these commands on a node; --apply does the same through the API.',
    ...commands,
    ...section('Strong privileges, and the fields that need them:', strong.map(strongLine)),
    ...section('', notes),
    ...differenceLines(report),
  ];
}

function differenceLines({ difference, removals }: PermissionsReport): string[] {
  if (!difference) return [];
  const { missing, tooMuch } = difference;
  if (missing.length + tooMuch.length === 0) return section('', ['The token has exactly these privileges today.']);
  return [
    ...section('Missing today:', missing.map(pathLine)),
    ...section('More than needed today:', notFromAbove(tooMuch).map(pathLine)),
    ...section('After the commands above, these remove what is not needed:', removals),
  ];
}

/** Privileges on `/` are listed there, and not repeated for every path below. */
function notFromAbove(tooMuch: readonly PathPrivileges[]): PathPrivileges[] {
  const above = new Set(tooMuch.find(({ path }) => path === '/')?.privileges);
  return tooMuch
    .map((each) =>
      each.path === '/' ? each : { ...each, privileges: each.privileges.filter((name) => !above.has(name)) },
    )
    .filter(({ privileges }) => privileges.length > 0);
}

/** An empty line, then comments. */
function section(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  return [
    '',
    ...(title === '' ? [] : [`# ${title}`]),
    ...lines.map((line) => (title === '' ? `# ${line}` : `#   ${line}`)),
  ];
}

const SHOWN = 12;

function pathLine({ path, privileges }: PathPrivileges): string {
  const more = privileges.length > SHOWN ? ` and ${privileges.length - SHOWN} more` : '';
  return `${path}: ${privileges.slice(0, SHOWN).join(' ')}${more}`;
}

function strongLine({ privileges, paths, because }: Requirement): string {
  const lines = [...new Set(because.map(reason))];
  return `${privileges[0]} on ${paths[0].path}: ${lines.slice(0, 3).join(', ')}`;
}

function reason({ where, step }: Because): string {
  const place = where.file === undefined || where.line === undefined ? '' : ` (${where.file}:${where.line})`;
  return `${where.field ?? step}${place}`;
}

function renderRoleChanges(changes: readonly RoleChange[], { roles, holder }: PermissionsReport): string[] {
  return [
    ...changes.map(({ name, isNew, gains, keeps, privileges }) => {
      if (isNew) return `+ role ${name}: ${privileges.join(' ')}`;
      const kept = keeps.length === 0 ? '' : ` (keeps ${keeps.join(' ')})`;
      return `~ role ${name}: ${gains.map((each) => `+${each}`).join(' ')}${kept}`;
    }),
    ...roles.acl.map(({ path, role, propagate }) => `+ entry ${path}: ${role}${propagate ? ', propagated' : ''}`),
    `${counted(roles.acl.length, 'entry', 'entries')} for ${holder.principal}${holder.principal.includes('!') ? ' and its user' : ''}.`,
  ];
}
