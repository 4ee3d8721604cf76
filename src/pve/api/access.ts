/** `/access`: permissions, roles, ACL entries and API tokens. */

import { z } from 'zod';
import type { CallOptions } from '../exchange.ts';
import { apiPath } from '../path.ts';
import type { Api } from '../request.ts';
import { commaList, flag, maybe, numeric, text } from './shapes.ts';

/** A listed privilege is granted; its value only says whether it propagates to deeper paths. */
const permissionsSchema = z.lazy(() => z.record(z.string(), z.record(z.string(), flag)));
export type Permissions = z.output<typeof permissionsSchema>;

const roleSchema = z.lazy(() => z.looseObject({ roleid: z.string(), privs: commaList, special: maybe(flag) }));
const rolesSchema = z.lazy(() => z.array(roleSchema));
export type Role = z.output<typeof roleSchema>;

const aclEntrySchema = z.lazy(() =>
  z.looseObject({
    path: z.string(),
    type: z.enum(['user', 'group', 'token']),
    ugid: z.string(),
    roleid: z.string(),
    propagate: maybe(flag),
  }),
);
const aclSchema = z.lazy(() => z.array(aclEntrySchema));
export type AclEntry = z.output<typeof aclEntrySchema>;

const tokenSchema = z.lazy(() =>
  z.looseObject({
    tokenid: z.string(),
    privsep: maybe(flag),
    expire: maybe(numeric),
    comment: maybe(text),
  }),
);
const tokensSchema = z.lazy(() => z.array(tokenSchema));
export type TokenEntry = z.output<typeof tokenSchema>;

export interface AclChange {
  readonly path: string;
  readonly roles: string;
  readonly users?: string | undefined;
  readonly tokens?: string | undefined;
  readonly propagate: boolean;
}

export class Access {
  readonly #api: Api;

  constructor(api: Api) {
    this.#api = api;
  }

  /** The caller's own permissions are always readable. Without `path`, paths that only inherit are missing: query each one. */
  permissions(
    params: { readonly path?: string | undefined; readonly userid?: string | undefined } = {},
    options?: CallOptions,
  ): Promise<Permissions> {
    return this.#api.get(apiPath`/access/permissions`, permissionsSchema, { ...params }, options);
  }

  roles(options?: CallOptions): Promise<Role[]> {
    return this.#api.get(apiPath`/access/roles`, rolesSchema, {}, options);
  }

  acl(options?: CallOptions): Promise<AclEntry[]> {
    return this.#api.get(apiPath`/access/acl`, aclSchema, {}, options);
  }

  async addRole(params: { readonly roleid: string; readonly privs: string }, options?: CallOptions): Promise<void> {
    await this.#api.post(apiPath`/access/roles`, z.unknown(), { ...params }, options);
  }

  /** Replaces the privileges of the role. */
  async setRole(roleid: string, privs: string, options?: CallOptions): Promise<void> {
    await this.#api.put(apiPath`/access/roles/${roleid}`, z.unknown(), { privs }, options);
  }

  /** Adds entries and keeps the existing ones. */
  async modifyAcl(params: AclChange, options?: CallOptions): Promise<void> {
    await this.#api.put(apiPath`/access/acl`, z.unknown(), { ...params }, options);
  }

  tokens(userid: string, options?: CallOptions): Promise<TokenEntry[]> {
    return this.#api.get(apiPath`/access/users/${userid}/token`, tokensSchema, {}, options);
  }
}
