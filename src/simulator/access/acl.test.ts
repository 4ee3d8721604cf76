import { beforeEach, describe, expect, it } from 'vitest';
import type { Runtime } from '../core/runtime.ts';
import { grant, testRuntime } from '../testing/access.ts';
import type { AclEntry } from '../world/world.ts';
import { notablePaths, permissionsOn, privilegeTest, removeAclSubtree, rolesOnPath, setAclEntry } from './acl.ts';

let runtime: Runtime;
const USER = 'who@pve';
const TOKEN = 'who@pve!tok';

beforeEach(() => {
  runtime = testRuntime();
});

const on = (authid: string, path: string) => Object.fromEntries(permissionsOn(runtime.world, authid, path));

function addToken(privsep: boolean): void {
  runtime.world.access.tokens.set(TOKEN, {
    userid: USER,
    tokenid: 'tok',
    secret: 's',
    privsep,
    expire: 0,
    comment: undefined,
  });
}

function addGroup(groupid: string): void {
  runtime.world.access.groups.set(groupid, { groupid, comment: undefined });
  runtime.world.access.users.get(USER)?.groups.add(groupid);
}

function addEntry(entry: Omit<AclEntry, 'propagate'> & { propagate?: boolean }): void {
  setAclEntry(runtime.world.access, { propagate: true, ...entry });
}

describe('evaluating the access control list', () => {
  it('passes a propagating entry down and keeps the others on their path', () => {
    grant(runtime, USER, '/vms', ['VM.Audit']);
    grant(runtime, USER, '/storage', ['Datastore.Audit'], false);
    expect(on(USER, '/vms/4711')).toEqual({ 'VM.Audit': 1 });
    expect(on(USER, '/storage')).toEqual({ 'Datastore.Audit': 0 });
    expect(on(USER, '/storage/local')).toEqual({});
    expect(on(USER, '/')).toEqual({});
  });

  it('lets a deeper level replace what is inherited, even by an entry that does not propagate', () => {
    grant(runtime, USER, '/', ['VM.Audit', 'VM.Clone']);
    grant(runtime, USER, '/vms/100', ['VM.PowerMgmt'], false);
    expect(on(USER, '/vms/100')).toEqual({ 'VM.PowerMgmt': 0 });
    expect(on(USER, '/vms/101')).toEqual({ 'VM.Audit': 1, 'VM.Clone': 1 });
  });

  it('adds up several roles on one level', () => {
    grant(runtime, USER, '/vms', ['VM.Audit'], false);
    grant(runtime, USER, '/vms', ['VM.Audit', 'VM.Clone']);
    expect(on(USER, '/vms')).toEqual({ 'VM.Audit': 1, 'VM.Clone': 1 });
  });

  it('prefers the user to its groups on one level, and adds up the groups', () => {
    grant(runtime, USER, '/nodes', []);
    addGroup('a');
    addGroup('b');
    addEntry({ path: '/vms', kind: 'group', ugid: 'a', role: 'PVETemplateUser' });
    addEntry({ path: '/vms', kind: 'group', ugid: 'b', role: 'PVEPoolUser' });
    expect(on(USER, '/vms/100')).toEqual({ 'VM.Audit': 1, 'VM.Clone': 1, 'Pool.Audit': 1 });
    addEntry({ path: '/vms', kind: 'user', ugid: USER, role: 'PVESDNUser' });
    expect(on(USER, '/vms/100')).toEqual({ 'SDN.Audit': 1, 'SDN.Use': 1 });
  });

  it('lets groups on a deeper level override the user above', () => {
    grant(runtime, USER, '/', ['Sys.Audit']);
    addGroup('a');
    addEntry({ path: '/vms', kind: 'group', ugid: 'a', role: 'PVETemplateUser' });
    expect(on(USER, '/vms/100')).toEqual({ 'VM.Audit': 1, 'VM.Clone': 1 });
  });

  it('cancels every other role next to NoAccess', () => {
    grant(runtime, USER, '/vms', ['VM.Audit']);
    addEntry({ path: '/vms', kind: 'user', ugid: USER, role: 'NoAccess' });
    expect(on(USER, '/vms/100')).toEqual({});
    expect([...rolesOnPath(runtime.world, USER, '/vms/100').keys()]).toEqual(['NoAccess']);
  });

  it('gives root@pam everything, anywhere', () => {
    expect(Object.keys(on('root@pam', '/no/such/path'))).toHaveLength(47);
    expect(privilegeTest(runtime.world, 'root@pam', undefined)('Sys.Modify')).toBe(true);
  });

  it('gives a token without separation what its user has, even for root', () => {
    grant(runtime, USER, '/vms', ['VM.Audit']);
    addToken(false);
    expect(on(TOKEN, '/vms/100')).toEqual({ 'VM.Audit': 1 });
    expect(Object.keys(on('root@pam!test', '/'))).toHaveLength(47);
  });

  it('gives a separated token what both have, propagating only if both do', () => {
    grant(runtime, USER, '/vms', ['VM.Audit', 'VM.Clone']);
    addToken(true);
    expect(on(TOKEN, '/vms')).toEqual({});
    grant(runtime, TOKEN, '/vms', ['VM.Audit', 'VM.PowerMgmt'], false);
    expect(on(TOKEN, '/vms')).toEqual({ 'VM.Audit': 0 });
  });

  it('checks only the entries of the token itself if a token of root@pam is separated', () => {
    const token = runtime.world.access.tokens.get('root@pam!test');
    if (token) token.privsep = true;
    expect(on('root@pam!test', '/vms/100')).toEqual({});
    grant(runtime, 'root@pam!test', '/vms', ['VM.Audit']);
    expect(on('root@pam!test', '/vms/100')).toEqual({ 'VM.Audit': 1 });
  });

  it('gives unknown tokens nothing', () => {
    expect(on('root@pam!nosuch', '/')).toEqual({});
  });
});

describe('rights through pools', () => {
  beforeEach(() => {
    runtime.world.pools.set('team', {
      poolid: 'team',
      comment: undefined,
      vms: new Set([100]),
      storages: new Set(['local2']),
    });
  });

  it('adds the roles of the pool to its members, without propagation', () => {
    grant(runtime, USER, '/pool/team', ['VM.Clone']);
    grant(runtime, USER, '/vms', ['VM.Audit']);
    expect(on(USER, '/vms/100')).toEqual({ 'VM.Audit': 1, 'VM.Clone': 0 });
    expect(on(USER, '/vms/9000')).toEqual({ 'VM.Audit': 1 });
    expect(on(USER, '/storage/local2')).toEqual({ 'VM.Clone': 0 });
  });

  it('lets NoAccess win on either side', () => {
    grant(runtime, USER, '/vms', ['VM.Audit']);
    addEntry({ path: '/pool/team', kind: 'user', ugid: USER, role: 'NoAccess' });
    expect(on(USER, '/vms/100')).toEqual({});
    expect(on(USER, '/vms/9000')).toEqual({ 'VM.Audit': 1 });
  });

  it('takes effect as soon as a member joins or leaves', () => {
    grant(runtime, USER, '/pool/team', ['VM.Audit']);
    const mayAudit = () => privilegeTest(runtime.world, USER, '/vms/9000')('VM.Audit');
    expect(mayAudit()).toBe(false);
    runtime.world.pools.get('team')?.vms.add(9000);
    expect(mayAudit()).toBe(true);
    runtime.world.pools.get('team')?.vms.delete(9000);
    expect(mayAudit()).toBe(false);
  });

  it('reaches members of nested pools through the path of the outer one', () => {
    runtime.world.pools.set('team/inner', {
      poolid: 'team/inner',
      comment: undefined,
      vms: new Set([9001]),
      storages: new Set(),
    });
    grant(runtime, USER, '/pool/team', ['VM.Audit']);
    expect(on(USER, '/vms/9001')).toEqual({ 'VM.Audit': 0 });
  });
});

describe('the list as it changes', () => {
  it('lists the paths of all entries, their parents and pool members', () => {
    grant(runtime, USER, '/sdn/zones/localnetwork/vmbr0', ['SDN.Use']);
    const paths = notablePaths(runtime.world);
    expect(paths).toContain('/sdn/zones/localnetwork');
    expect(paths).toContain('/storage');
    expect(paths).not.toContain('/mapping');
  });

  it('never stores entries of root@pam', () => {
    addEntry({ path: '/vms', kind: 'user', ugid: 'root@pam', role: 'NoAccess' });
    expect(runtime.world.access.acl.some((entry) => entry.ugid === 'root@pam')).toBe(false);
  });

  it('forgets a whole subtree at once', () => {
    grant(runtime, USER, '/vms/100', ['VM.Audit']);
    grant(runtime, USER, '/vms/1000', ['VM.Audit']);
    removeAclSubtree(runtime.world.access, '/vms/100');
    expect(on(USER, '/vms/100')).toEqual({});
    expect(on(USER, '/vms/1000')).toEqual({ 'VM.Audit': 1 });
  });

  it('notices entries that were added without its functions', () => {
    grant(runtime, USER, '/nodes', []);
    expect(on(USER, '/vms')).toEqual({});
    runtime.world.access.acl.push({
      path: '/vms',
      kind: 'user',
      ugid: USER,
      role: 'PVETemplateUser',
      propagate: true,
    });
    expect(on(USER, '/vms')).toEqual({ 'VM.Audit': 1, 'VM.Clone': 1 });
  });
});
