/** The endpoints below /access, called as handlers: changes, answers and refusals. */
import { beforeEach, describe, expect, it } from 'vitest';
import { permissionsOn } from '../../access/acl.ts';
import type { RawParams } from '../../schema/types.ts';
import { asyncRefusalOf, grant, testCall, testRuntime } from '../../testing/access.ts';
import { answerOf } from '../../testing/answer.ts';

let runtime: ReturnType<typeof testRuntime>;
const ADMIN = 'root@pam';
const USER = 'who@pve';

beforeEach(() => {
  runtime = testRuntime();
});

const send = (route: string, params: RawParams = {}, authid = ADMIN) =>
  answerOf(route, testCall(runtime, authid), params);

const refusal = (route: string, params: RawParams = {}, authid = ADMIN) =>
  asyncRefusalOf(() => send(route, params, authid));

describe('users', () => {
  it('shows an empty mail address only if another value follows it in the file', async () => {
    await send('POST /access/users', { userid: USER, firstname: 'W' });
    expect(await send('GET /access/users/{userid}', { userid: USER })).toEqual({
      enable: 1,
      expire: 0,
      firstname: 'W',
      groups: [],
      tokens: null,
    });
    await send('PUT /access/users/{userid}', { userid: USER, firstname: '', comment: 'c' });
    expect(await send('GET /access/users/{userid}', { userid: USER })).toEqual({
      enable: 1,
      expire: 0,
      email: '',
      comment: 'c',
      groups: [],
      tokens: null,
    });
  });

  it('strips blanks around every text, so that a blank comment is none', async () => {
    await send('POST /access/groups', { groupid: 'team', comment: ' ' });
    expect(await send('GET /access/groups/{groupid}', { groupid: 'team' })).toEqual({ members: [] });
    await send('POST /access/users', { userid: USER, firstname: ' W ', comment: ' ' });
    const user = await send('GET /access/users/{userid}', { userid: USER });
    expect(user).toMatchObject({ firstname: 'W' });
    expect(user).not.toHaveProperty('comment');
    await send('POST /access/users/{userid}/token/{tokenid}', { userid: USER, tokenid: 'ci', comment: ' mine\t' });
    expect(await send('GET /access/users/{userid}/token/{tokenid}', { userid: USER, tokenid: 'ci' })).toMatchObject({
      comment: 'mine',
    });
    await send('POST /pools', { poolid: 'pool', comment: ' both ' });
    expect(await send('GET /pools/{poolid}', { poolid: 'pool' })).toMatchObject({ comment: 'both' });
  });

  it('refuses a second user of the same name and unknown groups, without changes', async () => {
    await send('POST /access/users', { userid: USER });
    expect(await refusal('POST /access/users', { userid: USER })).toBe(
      "500 create user failed: user 'who@pve' already exists",
    );
    await send('POST /access/groups', { groupid: 'ops' });
    expect(await refusal('PUT /access/users/{userid}', { userid: USER, groups: 'ops,nosuch', enable: 0 })).toBe(
      "500 update user failed: no such group 'nosuch'",
    );
    expect(await send('GET /access/users/{userid}', { userid: USER })).toMatchObject({ enable: 1, groups: [] });
  });

  it('replaces groups, or appends to them', async () => {
    await send('POST /access/groups', { groupid: 'a' });
    await send('POST /access/groups', { groupid: 'b', comment: 'B' });
    await send('POST /access/users', { userid: USER, groups: 'a' });
    await send('PUT /access/users/{userid}', { userid: USER, groups: 'b', append: 1 });
    expect(await send('GET /access/groups')).toEqual([
      { groupid: 'a', users: USER },
      { groupid: 'b', comment: 'B', users: USER },
    ]);
    await send('PUT /access/users/{userid}', { userid: USER, groups: 'b' });
    expect(await send('GET /access/groups/{groupid}', { groupid: 'a' })).toEqual({ members: [] });
  });

  it('removes tokens and ACL entries together with their user', async () => {
    await send('POST /access/users', { userid: USER });
    await send('POST /access/users/{userid}/token/{tokenid}', { userid: USER, tokenid: 'tok' });
    await send('PUT /access/acl', { path: '/vms', roles: 'PVEVMUser', users: USER, tokens: `${USER}!tok` });
    await send('DELETE /access/users/{userid}', { userid: USER });
    expect(runtime.world.access.acl.some((entry) => entry.ugid.startsWith(USER))).toBe(false);
    expect(runtime.world.access.tokens.has(`${USER}!tok`)).toBe(false);
    expect(await refusal('DELETE /access/users/{userid}', { userid: USER })).toBeUndefined();
  });

  it('never removes root@pam, only its tokens', async () => {
    await send('DELETE /access/users/{userid}', { userid: 'root@pam' });
    expect(await send('GET /access/users/{userid}', { userid: 'root@pam' })).toEqual({
      enable: 1,
      expire: 0,
      groups: [],
      tokens: null,
    });
  });

  it('lists only the caller and users that the caller may manage', async () => {
    grant(runtime, USER, '/nodes', []);
    const ids = async (authid: string) =>
      ((await send('GET /access/users', {}, authid)) as { userid: string }[]).map((user) => user.userid);
    expect(await ids(USER)).toEqual([USER]);
    expect(await ids('terraform@pve!t1')).toEqual([]);
    expect(await ids('vmadmin@pve')).toContain('root@pam');
  });

  it('shows tokens and the kind of realm in the full list', async () => {
    const full = (await send('GET /access/users', { full: 1 })) as { userid: string }[];
    expect(full.find((user) => user.userid === 'root@pam')).toEqual({
      userid: 'root@pam',
      enable: 1,
      expire: 0,
      groups: '',
      'realm-type': 'pam',
      tokens: [{ tokenid: 'test', expire: 0, privsep: 0 }],
    });
  });
});

describe('tokens', () => {
  const TOKEN = { userid: 'terraform@pve', tokenid: 'new' };
  const create = 'POST /access/users/{userid}/token/{tokenid}';

  it('shows the secret once and echoes what was sent as text', async () => {
    const made = (await send(create, { ...TOKEN, privsep: 0, expire: 0 })) as { value: string };
    expect(made).toEqual({
      'full-tokenid': 'terraform@pve!new',
      info: { privsep: '0', expire: '0' },
      value: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    });
    expect(await send('GET /access/users/{userid}/token/{tokenid}', TOKEN)).toEqual({ privsep: 0, expire: 0 });
    expect(runtime.world.access.tokens.get('terraform@pve!new')?.secret).toBe(made.value);
  });

  it('refuses to create it twice', async () => {
    await send(create, TOKEN);
    expect(await refusal(create, TOKEN)).toBe('400 Parameter verification failed. tokenid: Token already exists.');
  });

  it('regenerates the secret only on request, and drops a comment', async () => {
    const update = 'PUT /access/users/{userid}/token/{tokenid}';
    const made = (await send(create, { ...TOKEN, comment: 'c' })) as { value: string };
    expect(await send(update, { ...TOKEN, delete: 'comment' })).toEqual({ privsep: 1, expire: 0 });
    const renewed = (await send(update, { ...TOKEN, regenerate: 1 })) as { value: string };
    expect(renewed).toMatchObject({ 'full-tokenid': 'terraform@pve!new', privsep: 1 });
    expect(renewed.value).not.toBe(made.value);
    expect(await refusal(update, { ...TOKEN, delete: 'privsep' })).toBe(
      "500 updating token info failed: 400 Parameter verification failed. delete: unknown option 'privsep'",
    );
  });
});

describe('the access control list', () => {
  const put = 'PUT /access/acl';

  it('normalises the path and changes an entry in place', async () => {
    await send(put, { path: 'vms/', roles: 'PVEVMUser', users: 'terraform@pve' });
    await send(put, { path: '/vms', roles: 'PVEVMUser', users: 'terraform@pve', propagate: 0 });
    expect(await send('GET /access/acl', {}, 'vmadmin@pve')).toContainEqual({
      path: '/vms',
      type: 'user',
      ugid: 'terraform@pve',
      roleid: 'PVEVMUser',
      propagate: 0,
    });
    await send(put, { path: '/vms', roles: 'PVEVMUser', users: 'terraform@pve', delete: 1 });
    expect(runtime.world.access.acl).toHaveLength(1);
  });

  it('refuses unknown roles, users, groups, tokens and paths, without changes', async () => {
    const acl = (params: RawParams) => refusal(put, { path: '/vms', roles: 'PVEVMUser', ...params });
    expect(await acl({ users: 'terraform@pve', roles: 'PVEVMUser,nosuch' })).toBe(
      "500 ACL update failed: role 'nosuch' does not exist",
    );
    expect(await acl({ groups: 'nosuch' })).toBe("500 ACL update failed: group 'nosuch' does not exist");
    expect(await acl({ tokens: 'terraform@pve!nosuch' })).toBe(
      "500 ACL update failed: no such token 'nosuch' for user 'terraform@pve'",
    );
    expect(await acl({ users: 'terraform@pve', path: '/nosuch' })).toBe(
      "400 Parameter verification failed. path: invalid ACL path '/nosuch'",
    );
    expect(await acl({})).toContain("users: either 'users', 'groups' or 'tokens' is required.");
    expect(runtime.world.access.acl).toHaveLength(1);
  });

  it('lets a user who may only allocate grant its own privileges', async () => {
    grant(runtime, USER, '/vms/100', ['VM.Allocate', 'VM.Audit'], false);
    runtime.world.access.roles.set('Look', { roleid: 'Look', privileges: new Set(['VM.Audit']), special: false });
    const give = (params: RawParams) => refusal(put, { path: '/vms/100', users: 'terraform@pve', ...params }, USER);
    expect(await give({ roles: 'PVEVMUser' })).toContain(
      "role: Cannot add role 'PVEVMUser' - requires 'Permissions.Modify' or superset of privileges.",
    );
    expect(await give({ roles: 'Look' })).toBe(
      "500 ACL update failed: 400 Parameter verification failed. role: Cannot add role 'Look' with propagation - requires 'Permissions.Modify' or propagated superset of privileges.",
    );
    expect(await give({ roles: 'NoAccess', propagate: 0 })).toContain("'NoAccess' - requires 'Permissions.Modify'");
    expect(await give({ roles: 'Look', propagate: 0 })).toBeUndefined();
    expect(permissionsOn(runtime.world, 'terraform@pve', '/vms/100').has('VM.Audit')).toBe(true);
  });

  it('is removed with its group and with its role', async () => {
    await send('POST /access/groups', { groupid: 'ops' });
    await send('POST /access/roles', { roleid: 'Own', privs: 'VM.Audit' });
    await send(put, { path: '/vms', roles: 'Own', groups: 'ops', users: 'terraform@pve' });
    expect(runtime.world.access.acl).toHaveLength(3);
    await send('DELETE /access/groups/{groupid}', { groupid: 'ops' });
    expect(runtime.world.access.acl).toHaveLength(2);
    await send('DELETE /access/roles/{roleid}', { roleid: 'Own' });
    expect(runtime.world.access.acl).toHaveLength(1);
  });
});

describe('roles', () => {
  it('reserves names that begin with PVE, whatever their case', async () => {
    expect(await refusal('POST /access/roles', { roleid: 'pveMine' })).toBe(
      "400 Parameter verification failed. roleid: cannot use role ID starting with the (case-insensitive) 'PVE' namespace",
    );
  });

  it('counts a change from the next check on', async () => {
    await send('POST /access/roles', { roleid: 'Own', privs: 'VM.Audit' });
    await send('PUT /access/acl', { path: '/vms', roles: 'Own', users: 'terraform@pve' });
    await send('PUT /access/roles/{roleid}', { roleid: 'Own', privs: 'VM.Clone' });
    expect([...permissionsOn(runtime.world, 'terraform@pve', '/vms/1').keys()]).toEqual(['VM.Clone']);
  });
});

describe('the lock of user.cfg', () => {
  it('times out after ten seconds', async () => {
    await runtime.clock.run(async () => {
      const release = await runtime.locks.acquire('cfs:file-user_cfg', 'exclusive', 0);
      const startedAt = runtime.clock.now();
      expect(await refusal('POST /access/roles', { roleid: 'Own' })).toBe(
        "500 create role failed: cfs-lock 'file-user_cfg' error: got lock request timeout",
      );
      expect(runtime.clock.now() - startedAt).toBe(10_000);
      release?.();
      expect(await refusal('POST /access/roles', { roleid: 'Own' })).toBeUndefined();
    });
  });
});

describe('tickets and passwords', () => {
  const login = (params: RawParams) =>
    send('POST /access/ticket', params, '') as Promise<{ ticket: string; cap: unknown }>;
  const refused = (params: RawParams) => refusal('POST /access/ticket', params, '');

  beforeEach(async () => {
    await send('POST /access/users', { userid: USER, password: 'first-secret' });
  });

  it('logs in with the password, the realm apart or not, and renews with the ticket', async () => {
    const { ticket } = await login({ username: USER, password: 'first-secret' });
    expect(await refused({ username: 'who', realm: 'pve', password: 'first-secret' })).toBeUndefined();
    expect(await refused({ username: USER, password: ticket })).toBeUndefined();
    await runtime.clock.advance(2 * 3600 * 1000);
    expect(await refused({ username: USER, password: ticket })).toBe('401 authentication failure');
  });

  it('creates a ticket for any user from one of root', async () => {
    const root = await login({
      username: 'root@pam',
      password: runtime.world.access.users.get('root@pam')?.password ?? '',
    });
    expect(await refused({ username: USER, password: root.ticket })).toBeUndefined();
    const { ticket } = await login({ username: USER, password: 'first-secret' });
    expect(await refused({ username: 'root@pam', password: ticket })).toBe('401 authentication failure');
  });

  it('verifies privileges on a path without creating a ticket', async () => {
    grant(runtime, USER, '/vms', ['VM.Audit']);
    const ask = { username: USER, password: 'first-secret', path: '/vms/100' };
    expect(await login({ ...ask, privs: 'VM.Audit' })).not.toHaveProperty('ticket');
    expect(await refused({ ...ask, privs: 'VM.Audit,VM.Clone' })).toBe('401 authentication failure');
  });

  it('lists for the web interface what the user has anywhere', async () => {
    grant(runtime, USER, '/pool/team', ['VM.Audit', 'Datastore.Audit', 'Sys.Audit']);
    const { cap } = await login({ username: USER, password: 'first-secret' });
    expect(cap).toEqual({
      access: {},
      dc: {},
      mapping: {},
      nodes: {},
      sdn: {},
      storage: { 'Datastore.Audit': 1 },
      vms: { 'VM.Audit': 1 },
    });
  });

  it('changes a password only after confirmation with the password of the caller', async () => {
    const change = (params: RawParams) =>
      refusal('PUT /access/password', { userid: USER, password: 'next-secret', ...params }, USER);
    expect(await change({})).toContain('confirmation-password: password is required to modify user');
    expect(await change({ 'confirmation-password': 'wrong' })).toBe('500 invalid credentials');
    expect(await change({ 'confirmation-password': 'first-secret', userid: 'root@pam' })).toBe(
      '403 Permission check failed',
    );
    expect(await change({ 'confirmation-password': 'first-secret' })).toBeUndefined();
    expect(await refused({ username: USER, password: 'first-secret' })).toBe('401 authentication failure');
    expect(await refused({ username: USER, password: 'next-secret' })).toBeUndefined();
  });

  it('needs a realm for a password, but not for a user', async () => {
    expect(await refusal('POST /access/users', { userid: 'x@nosuch', password: 'long-enough' })).toBe(
      "500 create user failed: auth domain 'nosuch' does not exist",
    );
    expect(await refusal('POST /access/users', { userid: 'x@nosuch' })).toBeUndefined();
  });
});

describe('the rest', () => {
  it('shows permissions of the caller and its tokens, and those of others to auditors', async () => {
    const ask = (userid: string, authid: string) => refusal('GET /access/permissions', { userid, path: '/' }, authid);
    expect(await ask('terraform@pve!t1', 'terraform@pve')).toBeUndefined();
    expect(await ask('terraform@pve', 'terraform@pve!t1')).toBe('403 Permission check failed (/access, Sys.Audit)');
    expect(await ask('terraform@pve', 'vmadmin@pve')).toBeUndefined();
  });

  it('lists realms and what is below /access', async () => {
    expect(await send('GET /access/domains')).toContainEqual({
      realm: 'pam',
      type: 'pam',
      comment: 'Linux PAM standard authentication',
    });
    expect(await send('GET /access')).toContainEqual({ subdir: 'acl' });
  });
});
