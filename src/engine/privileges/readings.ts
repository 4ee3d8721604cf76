/**
 * The second tier: what nobody needs in order to apply, and what checks would like to read on top. Each is a requirement like
 * any other, so that a role can be made for it, and says what stays unknown without it.
 */
import type { Diagnostic } from '../../base/diagnostics.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import { LOCAL_ZONE } from '../../kinds/vm/privileges/devices.ts';
import type { AclPath, OneOf } from '../../kinds/vm/privileges/need.ts';
import { whereOf } from '../../kinds/vm/where.ts';
import type { Grants } from './grants.ts';
import type { Requirement } from './requirement.ts';

export interface Reading extends Requirement {
  /** What cannot be told without it: `Memory and load of node pve1`. */
  readonly what: string;
}

/** `requirements`: what the plan needs, whose storages are looked into as well. */
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
    reading('Bridges beside those that the token may use', ['SDN.Audit', 'SDN.Use'], { path: LOCAL_ZONE, below: true }),
    ...[...nodes].map((node) => reading(`Memory and load of node ${node}`, ['Sys.Audit'], { path: `/nodes/${node}` })),
    ...[...storages].map((storage) =>
      reading(`Volumes on storage ${storage}`, ['Datastore.Audit'], { path: `/storage/${storage}` }),
    ),
    ...[...pools].map((pool) => reading(`Members of pool ${pool}`, ['Pool.Audit'], { path: `/pool/${pool}` })),
  ];
}

/** What stays unknown, one warning each; their paths must have been asked about. */
export function notRead(readings: readonly Reading[], grants: Pick<Grants, 'holds'>): Diagnostic[] {
  return readings
    .filter((reading) => !grants.holds(reading))
    .map(({ what, privileges, paths: [{ path }] }) => ({
      severity: 'warning',
      code: 'NOT_CHECKED',
      summary: 'Not checked',
      detail: `${what} could not be checked: the token needs ${privileges[0]} on ${path}.`,
    }));
}
