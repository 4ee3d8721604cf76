import { beforeEach, describe, expect, it } from 'vitest';
import type { Runtime } from '../core/runtime.ts';
import { API_FACTS } from '../schema/api-facts.generated.ts';
import type { Permissions, RawParams } from '../schema/types.ts';
import { callerOf, grant, refusalOf, testRuntime } from '../testing/access.ts';
import { ANONYMOUS } from './authenticate.ts';
import { checkPermissions, tokenNotAllowed } from './checks.ts';

let runtime: Runtime;
const USER = 'who@pve';

beforeEach(() => {
  runtime = testRuntime();
  grant(runtime, USER, '/nodes', []);
});

function refusal(endpoint: string, params: RawParams, authid = USER): string | undefined {
  const permissions = declared(endpoint);
  return refusalOf(() => checkPermissions(runtime.world, callerOf(authid), permissions, params));
}

function declared(endpoint: string): Permissions {
  const facts = API_FACTS[endpoint];
  if (!facts) throw new Error(`no facts about ${endpoint}`);
  return facts.permissions;
}

describe('declared permissions', () => {
  it('names the path with its parameters filled in and the first missing privilege', () => {
    expect(refusal('GET /nodes/{node}/qemu/{vmid}/config', { node: 'pve1', vmid: '100' })).toBe(
      '403 Permission check failed (/vms/100, VM.Audit)',
    );
  });

  it('names all alternatives', () => {
    expect(refusal('PUT /nodes/{node}/qemu/{vmid}/config', { vmid: '100', cores: '2' })).toMatch(
      /^403 Permission check failed \(\/vms\/100, VM\.Config\.Disk\|VM\.Config\.CDROM\|.*\|VM\.Config\.Cloudinit\)$/,
    );
    grant(runtime, USER, '/vms', ['VM.Config.CPU']);
    expect(refusal('PUT /nodes/{node}/qemu/{vmid}/config', { vmid: '100' })).toBeUndefined();
  });

  it('gives no details when every alternative of an "or" fails', () => {
    grant(runtime, USER, '/vms/9000', ['VM.Clone']);
    const clone = (params: RawParams) => refusal('POST /nodes/{node}/qemu/{vmid}/clone', { vmid: '9000', ...params });
    expect(clone({ newid: '200' })).toBe('403 Permission check failed');
    expect(clone({ newid: '200', pool: 'team' })).toBe('403 Permission check failed');
    grant(runtime, USER, '/pool/team', ['VM.Allocate']);
    expect(clone({ newid: '200', pool: 'team' })).toBeUndefined();
    expect(clone({ newid: '200' })).toBe('403 Permission check failed');
  });

  it('prints an impossible path as empty', () => {
    expect(refusal('POST /pools', { poolid: 'bad name' }, 'root@pam!test')).toBe(
      '403 Permission check failed (, Pool.Allocate)',
    );
  });

  it('allows a login of root@pam, but not its token, if nothing is declared', () => {
    expect(refusalOf(() => checkPermissions(runtime.world, callerOf('root@pam'), {}, {}))).toBeUndefined();
    expect(refusalOf(() => checkPermissions(runtime.world, callerOf('root@pam!test'), {}, {}))).toBe(
      '403 Permission check failed (user != root@pam)',
    );
  });

  it('knows which calls need no login', () => {
    expect(refusalOf(() => checkPermissions(runtime.world, ANONYMOUS, { user: 'world' }, {}))).toBeUndefined();
    expect(refusalOf(() => checkPermissions(runtime.world, ANONYMOUS, { user: 'all' }, {}))).toBe(
      '403 Permission check failed (user != null)',
    );
  });

  it('refuses a token for calls that need a login, with the message of the server', () => {
    expect(tokenNotAllowed('/access/password').message).toBe(
      "Permission check failed (URI '/access/password' not available with API token, need proper ticket.\n)\n",
    );
  });
});

describe('permissions on accounts', () => {
  it('finds an ill-formed user name before anything else', () => {
    expect(refusal('POST /access/users', { userid: 'bad' }, 'root@pam!test')).toBe(
      "500 value 'bad' does not look like a valid user name",
    );
  });

  it('asks for the realm, then for all groups or each group given', () => {
    const create = (params: RawParams) => refusal('POST /access/users', { userid: 'new@pve', ...params });
    expect(create({})).toBe('403 Permission check failed (/access/realm/pve, Realm.AllocateUser)');
    grant(runtime, USER, '/access/realm/pve', ['Realm.AllocateUser']);
    expect(create({})).toBe('403 Permission check failed (/access/groups, User.Modify)');
    expect(create({ groups: 'ops' })).toBe('403 Permission check failed (/access/groups/ops, User.Modify)');
    runtime.world.access.groups.set('ops', { groupid: 'ops', comment: undefined });
    grant(runtime, USER, '/access/groups/ops', ['User.Modify']);
    expect(create({ groups: 'ops' })).toBeUndefined();
  });

  it('grants access to an existing user through one of its groups', () => {
    const read = () => refusal('GET /access/users/{userid}', { userid: 'terraform@pve' });
    expect(read()).toBe('403 Permission check failed');
    runtime.world.access.groups.set('ops', { groupid: 'ops', comment: undefined });
    runtime.world.access.users.get('terraform@pve')?.groups.add('ops');
    grant(runtime, USER, '/access/groups/ops', ['Sys.Audit']);
    expect(read()).toBeUndefined();
  });

  it('names a user that does not exist, unless the check is one of several alternatives', () => {
    expect(refusal('DELETE /access/users/{userid}', { userid: 'ghost@pve' }, 'root@pam!test')).toBe(
      "500 no such user ('ghost@pve')",
    );
    expect(refusal('GET /access/users/{userid}/token', { userid: 'ghost@pve' }, 'root@pam!test')).toBe(
      '403 Permission check failed',
    );
  });

  it('lets users manage their own tokens, but not tokens those of their user', () => {
    const list = (authid: string) => refusal('GET /access/users/{userid}/token', { userid: 'terraform@pve' }, authid);
    expect(list('terraform@pve')).toBeUndefined();
    expect(list('terraform@pve!t1')).toBe('403 Permission check failed');
  });

  it('lets a user who may allocate an object grant rights on it', () => {
    const modify = (path: string) => refusal('PUT /access/acl', { path });
    expect(modify('/vms/100')).toBe('403 Permission check failed (/vms/100, Permissions.Modify|VM.Allocate)');
    expect(modify('/vms')).toBe('403 Permission check failed (/vms, Permissions.Modify)');
    grant(runtime, USER, '/vms', ['VM.Allocate']);
    expect(modify('/vms/100')).toBeUndefined();
    expect(modify('not a path')).toBeUndefined();
  });
});
