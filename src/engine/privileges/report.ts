/** Reports missing privileges by path, with the lines of the file that need them and the commands that grant them. */
import type { Diagnostic, Where } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { ServerVersion } from '../../pve/compatibility.ts';
import type { Grants } from './grants.ts';
import { type Holder, pveumCommands } from './pveum.ts';
import { type Because, printPath, type Requirement } from './requirement.ts';
import { smallestRoles } from './roles.ts';

export interface ReportInput {
  /** Everything the plan needs. */
  readonly requirements: readonly Requirement[];
  /** The requirements that are not met; at least one. */
  readonly gaps: readonly Requirement[];
  readonly grants: Grants;
  readonly holder: Holder;
  readonly version: ServerVersion;
  /** Names of existing roles. */
  readonly roles: ReadonlySet<string>;
}

/** The last line of the detail; the hint below it consists of commands only. */
export const RUN_AS_ROOT = 'Run as root on a node:';

export function missingPrivileges(input: ReportInput): Diagnostic[] {
  const { grants } = input;
  const hasAnything = grants.paths.some((path) => grants.on(path).size > 0);
  return hasAnything ? groupsOf(input.gaps).map((group) => groupDiagnostic(group, input)) : [nothingAtAll(input)];
}

/** The usual start: a new token without any ACL entry. */
function nothingAtAll(input: ReportInput): Diagnostic {
  const { holder, requirements, gaps } = input;
  const { principal } = holder;
  const isToken = principal.includes('!');
  const why = isToken
    ? 'A token with privilege separation needs ACL entries for itself and for its user; one or both have none.'
    : 'This user has no role.';
  const [first] = gaps;
  return new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    ...(first && { where: first.because[0].where }),
    detail: [
      `${principal} has no privileges at all on what this plan touches. ${why} It needs:`,
      ...groupsOf(gaps).flatMap(({ places, gaps: each }) => each.map((gap) => `  ${gapLine(gap, places)}`)),
      RUN_AS_ROOT,
    ].join('\n'),
    hint: commandsFor(requirements, input, 'each').join('\n'),
  }).diagnostic;
}

interface GapGroup {
  /** As printed: `/vms/101 or /pool/lab`. */
  readonly places: readonly string[];
  readonly gaps: readonly Requirement[];
}

/** Groups paths on which the same privileges are missing: one message for fifty VMs. */
function groupsOf(gaps: readonly Requirement[]): GapGroup[] {
  const byPlace = new Map<string, Requirement[]>();
  for (const gap of gaps) {
    const place = gap.paths.map(printPath).join(' or ');
    byPlace.set(place, [...(byPlace.get(place) ?? []), gap]);
  }
  const groups = new Map<string, { places: string[]; gaps: readonly Requirement[] }>();
  for (const [place, missing] of byPlace) {
    const kind = place.split('/')[1] ?? '';
    const signature = [kind, ...missing.map(({ privileges }) => privileges.join('|')).sort()].join(' ');
    const group = groups.get(signature) ?? { places: [], gaps: missing };
    group.places.push(place);
    groups.set(signature, group);
  }
  return [...groups.values()];
}

function groupDiagnostic({ places, gaps }: GapGroup, input: ReportInput): Diagnostic {
  const { principal } = input.holder;
  const [first] = gaps;
  return new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    ...(first && { where: first.because[0].where }),
    detail: [
      `${principal} lacks privileges that this plan needs:`,
      ...gaps.map((gap) => `  ${gapLine(gap, places)}`),
      RUN_AS_ROOT,
    ].join('\n'),
    hint: hintFor(gaps, places, input).join('\n'),
  }).diagnostic;
}

const SHOWN_PLACES = 5;

function gapLine({ privileges, because }: Requirement, places: readonly string[]): string {
  const shown = places.slice(0, SHOWN_PLACES).join(', ');
  const more = places.length > SHOWN_PLACES ? ` and ${places.length - SHOWN_PLACES} more` : '';
  return `${privileges.join(' or ')} on ${shown}${more}, for ${reasonOf(because[0])}`;
}

/** `cpu.cores (stack.yaml:12)`, `vm.clone of vm.web`. */
function reasonOf({ where, step }: Because): string {
  const subject = where.field ?? `${step} of ${where.address ?? 'the stack'}`;
  return `${subject}${lineOf(where)}`;
}

function lineOf({ file, line }: Where): string {
  return file === undefined || line === undefined ? '' : ` (${file}:${line})`;
}

/**
 * An entry replaces what its path inherits, so the new role contains everything that is needed there and what the token
 * already has there. Other paths stay as they are.
 */
function hintFor(gaps: readonly Requirement[], places: readonly string[], input: ReportInput): string[] {
  const { requirements, grants } = input;
  const isAboutVms = gaps.some(({ paths }) => paths.every(({ path }) => path.startsWith('/vms')));
  const propagated = [...grants.on('/vms')].flatMap(([privilege, propagates]) => (propagates ? [privilege] : []));
  // An entry on the VM itself hides what it would inherit.
  const isShadowed = gaps.some(({ paths: [{ path }] }) =>
    /^\/vms\/\d+$/.test(path) ? propagated.some((privilege) => !grants.on(path).has(privilege)) : false,
  );
  const vms = isAboutVms && !isShadowed && (places.length > 1 || propagated.length > 0) ? 'all' : 'each';
  const paths = new Set(gaps.flatMap((gap) => gap.paths.map(({ path }) => path)));
  const concerns = (requirement: Requirement) =>
    requirement.paths.some(({ path }) => paths.has(path)) ||
    (vms === 'all' && !grants.holds(requirement) && requirement.paths.some(({ path }) => /^\/vms\/\d+$/.test(path)));
  return commandsFor(requirements.filter(concerns), input, vms);
}

function commandsFor(requirements: readonly Requirement[], input: ReportInput, vms: 'each' | 'all'): string[] {
  const { grants, holder, version, roles } = input;
  const keep = (path: string) => [...grants.on(path).keys()].filter((privilege) => fits(privilege, path));
  return pveumCommands(smallestRoles(requirements, { version, vms, granted: grants, keep }), holder, roles);
}

/** Privileges that make sense at or below a path; for the root, only those that are checked on `/` itself. */
const FITTING: Readonly<Record<string, RegExp>> = {
  '': /^(Sys|Permissions)\./,
  nodes: /^(Sys|Permissions)\./,
  vms: /^(VM|Permissions)\./,
  storage: /^(Datastore|Permissions)\./,
  sdn: /^(SDN|Permissions)\./,
  mapping: /^(Mapping|Permissions)\./,
  pool: /^(Pool|VM|Datastore|Permissions)\./,
};

function fits(privilege: string, path: string): boolean {
  return FITTING[path.split('/')[1] ?? '']?.test(privilege) ?? true;
}
