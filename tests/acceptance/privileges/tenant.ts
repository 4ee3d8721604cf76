/**
 * A user of the suite with a token and with exactly the roles that were computed for it. Any single privilege can be taken
 * from it for a while; at the end nothing of it is left. Everything carries the name of the suite's run.
 */
import { z } from 'zod';
import { grantRoles, roleChanges } from '../../../src/engine/privileges/pveum.ts';
import type { RoleSet } from '../../../src/engine/privileges/roles.ts';
import { type Credentials, isNotFound, type Pve, tokenFrom } from '../../../src/pve/index.ts';
import { apiPath } from '../../../src/pve/path.ts';
import type { Api } from '../../../src/pve/request.ts';
import { missingOn } from '../own-vm.ts';

const TOKEN = 'role';
const tokenAnswer = z.looseObject({ value: z.string() });
const anything = z.unknown();

/** One privilege on one path. */
export interface Grant {
  readonly path: string;
  readonly privilege: string;
}

/** What an administrator needs in order to make users, roles and entries; those of them that are missing. */
export async function missingForAdministration(pve: Pve): Promise<string[]> {
  const onAccess = await missingOn(pve, '/access', ['Sys.Modify', 'User.Modify', 'Realm.AllocateUser']);
  const onAll = await missingOn(pve, '/', ['Permissions.Modify', 'Pool.Allocate']);
  return [...onAccess.map((each) => `${each} on /access`), ...onAll.map((each) => `${each} on /`)];
}

export class Tenant {
  readonly #pve: Pve;
  readonly #api: Api;
  readonly #name: string;
  #granted: RoleSet = { roles: [], acl: [] };

  constructor(pve: Pve, api: Api, name: string) {
    this.#pve = pve;
    this.#api = api;
    this.#name = name;
  }

  get #user(): string {
    return `${this.#name}@pve`;
  }

  get principal(): string {
    return `${this.#user}!${TOKEN}`;
  }

  get granted(): RoleSet {
    return this.#granted;
  }

  /** What it has now, one by one. */
  get grants(): Grant[] {
    const privileges = new Map(this.#granted.roles.map((role) => [role.name, role.privileges]));
    return this.#granted.acl.flatMap(({ path, role }) =>
      (privileges.get(role) ?? []).map((privilege) => ({ path, privilege })),
    );
  }

  /** A user without any right, and a token with privilege separation. */
  async create(): Promise<Credentials> {
    await this.#api.post(apiPath`/access/users`, anything, { userid: this.#user, comment: 'proxwright acceptance' });
    const path = apiPath`/access/users/${this.#user}/token/${TOKEN}`;
    const { value } = await this.#api.post(path, tokenAnswer, { privsep: true });
    return tokenFrom(this.principal, value);
  }

  /** As `permissions --apply` does it. */
  async grant(roles: RoleSet): Promise<void> {
    await grantRoles(this.#pve, roles, await roleChanges(this.#pve, roles), { principal: this.principal });
    this.#granted = roles;
  }

  /** Works while the one privilege on the one path is gone, and gives it back. */
  async without<T>({ path, privilege }: Grant, work: () => Promise<T>): Promise<T> {
    const less = `${this.#name}-less`;
    const entries = this.#granted.acl.filter(
      (entry) => entry.path === path && this.#privilegesOf(entry.role).includes(privilege),
    );
    const rest = new Set(entries.flatMap(({ role }) => this.#privilegesOf(role)));
    rest.delete(privilege);
    const propagate = entries.some((entry) => entry.propagate);
    if (rest.size > 0) await this.#pve.access.addRole({ roleid: less, privs: [...rest].join(' ') });
    try {
      if (rest.size > 0) await this.#entry(path, less, propagate);
      for (const { role } of entries) await this.#entry(path, role, propagate, true);
      return await work();
    } finally {
      for (const { role } of entries) await this.#entry(path, role, propagate);
      if (rest.size > 0) {
        await this.#entry(path, less, propagate, true);
        await this.#removeRole(less);
      }
    }
  }

  /** With the user go its token and its entries. */
  async remove(): Promise<void> {
    await gone(this.#api.delete(apiPath`/access/users/${this.#user}`, anything));
    const roles = (await this.#pve.access.roles()).filter(({ roleid }) => roleid.startsWith(`${this.#name}-`));
    for (const { roleid } of roles) await this.#removeRole(roleid);
    this.#granted = { roles: [], acl: [] };
  }

  #privilegesOf(name: string): readonly string[] {
    return this.#granted.roles.find((role) => role.name === name)?.privileges ?? [];
  }

  async #entry(path: string, roles: string, propagate: boolean, isRemoved = false): Promise<void> {
    const change = { path, roles, users: this.#user, tokens: this.principal };
    await this.#api.put(apiPath`/access/acl`, anything, {
      ...change,
      ...(isRemoved ? { delete: true } : { propagate }),
    });
  }

  async #removeRole(roleid: string): Promise<void> {
    await gone(this.#api.delete(apiPath`/access/roles/${roleid}`, anything));
  }
}

async function gone(removal: Promise<unknown>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
