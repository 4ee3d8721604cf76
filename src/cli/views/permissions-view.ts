/** Roles and entries as a script for an administrator: everything that is no command is a comment. */
import { counted } from '../../base/count.ts';
import type { RoleChange } from '../../engine/privileges/grant-roles.ts';
import type { Because, Requirement } from '../../engine/privileges/requirement.ts';
import type { PathPrivileges } from '../../engine/privileges/roles.ts';
import type { PermissionsReport } from '../permissions-report.ts';

const SCOPES = { plan: 'what the next apply does', lifecycle: 'the whole life of its VMs' } as const;

export function renderPermissions(report: PermissionsReport): string[] {
  const { stack, scope, version, holder, notes, commands, needs } = report;
  const strong = needs.requirements.filter((requirement) => requirement.strong);
  return [
    `# Smallest roles for stack ${stack} (${SCOPES[scope]}) on Proxmox VE ${version}, for ${holder.principal}.`,
    '# To be typed by an administrator on a node; --apply does it instead.',
    ...commands,
    ...section('Strong privileges, and the lines that ask for them:', strong.map(strongLine)),
    ...section('', notes),
    ...differenceLines(report),
  ];
}

function differenceLines({ difference, removals }: PermissionsReport): string[] {
  if (!difference) return [];
  const { missing, tooMuch } = difference;
  if (missing.length + tooMuch.length === 0) return section('', ['The token has exactly this today.']);
  return [
    ...section('Missing today:', missing.map(pathLine)),
    ...section('More than needed today:', notFromAbove(tooMuch).map(pathLine)),
    ...section('Once the commands above are typed, this gives back what is too much:', removals),
  ];
}

/** What comes from `/` is said there, and not once more for every path below. */
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

/** Before they are made. */
export function renderRoleChanges(changes: readonly RoleChange[], { roles, holder }: PermissionsReport): string[] {
  return [
    ...changes.map(({ name, isNew, gains, keeps, privileges }) => {
      if (isNew) return `+ role ${name}: ${privileges.join(' ')}`;
      const kept = keeps.length === 0 ? '' : ` (keeps ${keeps.join(' ')})`;
      return `~ role ${name}: ${gains.map((each) => `+${each}`).join(' ')}${kept}`;
    }),
    ...roles.acl.map(
      ({ path, role, propagate }) => `+ entry ${path}: ${role}${propagate ? ', and everything below' : ''}`,
    ),
    `${counted(roles.acl.length, 'entry', 'entries')} for ${holder.principal}${holder.principal.includes('!') ? ' and its user' : ''}.`,
  ];
}
