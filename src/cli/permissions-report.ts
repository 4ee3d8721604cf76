/** What `permissions` found out, before anybody prints or carries it out. */
import type { Holder } from '../engine/privileges/pveum.ts';
import type { PlanNeeds } from '../engine/privileges/requirements.ts';
import type { RoleDifference, RoleSet } from '../engine/privileges/roles.ts';

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
  /** Beside what the token has today; absent without a server. */
  readonly difference?: RoleDifference;
  /** Take away what is too much, as far as the entries are known. */
  readonly removals: readonly string[];
}
