/** The roles every installation has, computed from the privilege table, and what is special about them. */
import type { Role } from '../world/world.ts';
import { privilegeGroupsOf, privilegesOf } from './privileges.ts';

export const ADMINISTRATOR = 'Administrator';
export const NO_ACCESS = 'NoAccess';

/** Rule [source AC AccessControl.pm create_roles]: per area an admin and a user role, and the four cross-cutting ones. */
export function builtInRoles(version: string): Map<string, Role> {
  const privileges = new Map<string, Set<string>>([
    [NO_ACCESS, new Set()],
    [ADMINISTRATOR, new Set(privilegesOf(version))],
    ['PVETemplateUser', new Set(['VM.Clone', 'VM.Audit'])],
  ]);
  const grant = (roleid: string, ...lists: (readonly string[])[]) => {
    const set = privileges.get(roleid) ?? new Set<string>();
    for (const privilege of lists.flat()) set.add(privilege);
    privileges.set(roleid, set);
  };
  for (const [area, group] of Object.entries(privilegeGroupsOf(version))) {
    grant(`PVE${area}Admin`, group.admin, group.user, group.audit);
    grant('PVEAdmin', group.admin, group.user, group.audit);
    if (group.user.length > 0) grant(`PVE${area}User`, group.user, group.audit);
    grant('PVEAuditor', group.audit);
  }
  // Rule [source AC AccessControl.pm create_roles]: mappings are not for PVEAdmin, it may only use them.
  privileges.get('PVEAdmin')?.delete('Mapping.Modify');
  return new Map([...privileges].map(([roleid, set]) => [roleid, { roleid, privileges: set, special: true }]));
}
