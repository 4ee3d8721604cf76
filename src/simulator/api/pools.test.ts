import { beforeEach, describe, expect, it } from 'vitest';
import { addVmToPool, poolOfVm, removeStorageAccess, removeVmAccess } from '../access/user-config.ts';
import type { Runtime } from '../core/runtime.ts';
import type { RawParams } from '../schema/types.ts';
import { asyncRefusalOf, grant, testCall, testRuntime } from '../testing/access.ts';
import { answerOf } from '../testing/answer.ts';
import { createVm, emptyDraft, writtenConfig } from '../vm/config/config-file.ts';

let runtime: Runtime;
const USER = 'who@pve';

beforeEach(async () => {
  runtime = testRuntime();
  await send('POST /pools', { poolid: 'dev' });
});

const send = (route: string, params: RawParams, authid = 'root@pam') =>
  answerOf(route, testCall(runtime, authid), params);

const refusal = (route: string, params: RawParams, authid?: string) =>
  asyncRefusalOf(() => send(route, params, authid));
const membersOf = (poolid: string) => [...(runtime.world.pools.get(poolid)?.vms ?? [])];

describe('pools', () => {
  it('nests them below existing ones, with names that begin with a letter', async () => {
    expect(await refusal('POST /pools', { poolid: 'no/sub' })).toBe(
      "500 create pool failed: parent 'no' of pool 'no/sub' does not exist",
    );
    expect(await refusal('POST /pools', { poolid: 'dev/1' })).toBe(
      '500 create pool failed: pool name must start with a letter',
    );
    expect(await refusal('POST /pools', { poolid: 'dev/a' })).toBeUndefined();
    expect(await refusal('DELETE /pools', { poolid: 'dev' })).toBe(
      "500 delete pool failed: pool 'dev' is not empty (contains pool 'dev/a')",
    );
  });

  it('accepts members that do not exist, and neither shows nor counts them', async () => {
    await send('PUT /pools', { poolid: 'dev', vms: '4711' });
    expect(await send('GET /pools', { poolid: 'dev' })).toEqual([{ poolid: 'dev', members: [] }]);
    expect(await refusal('DELETE /pools', { poolid: 'dev' })).toBeUndefined();
  });

  it('shows a VM completely right after its creation', async () => {
    createVm(runtime, 'pve1', 4711, writtenConfig({ ...emptyDraft(), current: new Map([['name', 'new']]) }));
    await send('PUT /pools', { poolid: 'dev', vms: '4711' });
    expect(await send('GET /pools/{poolid}', { poolid: 'dev' })).toMatchObject({
      members: [{ vmid: 4711, name: 'new', status: 'stopped', maxmem: 512 * 1024 ** 2 }],
    });
  });

  it('changes nothing when one of several members cannot be changed', async () => {
    await send('PUT /pools', { poolid: 'dev', vms: '100' });
    expect(await refusal('PUT /pools', { poolid: 'dev', vms: '9000,100', comment: 'new' })).toBe(
      '500 update pools failed: VM 100 is already a pool member',
    );
    expect(membersOf('dev')).toEqual([100]);
    expect(runtime.world.pools.get('dev')?.comment).toBeUndefined();
    expect(await refusal('PUT /pools', { poolid: 'dev', storage: 'local', delete: 1 })).toBe(
      "500 update pools failed: Storage 'local' is not a pool member",
    );
  });

  it('moves a VM between pools only if allowed', async () => {
    await send('POST /pools', { poolid: 'prod' });
    await send('PUT /pools', { poolid: 'dev', vms: '100' });
    expect(await refusal('PUT /pools', { poolid: 'prod', vms: '100' })).toBe(
      "500 update pools failed: VM 100 belongs already to pool 'dev' and 'allow-move' is not set",
    );
    await send('PUT /pools', { poolid: 'prod', vms: '100', 'allow-move': 1 });
    expect(membersOf('dev')).toEqual([]);
    expect(membersOf('prod')).toEqual([100]);
  });

  it('requires privileges on the member as well, and wraps the 403 in a 500', async () => {
    grant(runtime, USER, '/pool/dev', ['Pool.Allocate']);
    expect(await refusal('PUT /pools', { poolid: 'dev', vms: '100' }, USER)).toBe(
      '500 update pools failed: 403 Permission check failed (/vms/100, Permissions.Modify|VM.Allocate)',
    );
    grant(runtime, USER, '/vms/100', ['VM.Allocate']);
    expect(await refusal('PUT /pools', { poolid: 'dev', vms: '100' }, USER)).toBeUndefined();
  });

  it('lists only pools that the caller may audit', async () => {
    grant(runtime, USER, '/pool/other', ['Pool.Audit']);
    expect(await send('GET /pools', {}, USER)).toEqual([]);
    grant(runtime, USER, '/pool/dev', ['Pool.Audit']);
    expect(await send('GET /pools', {}, USER)).toEqual([{ poolid: 'dev' }]);
  });

  it('shows only members of the requested kind', async () => {
    await send('PUT /pools', { poolid: 'dev', vms: '100', storage: 'local2' });
    const ids = async (type: string) =>
      ((await send('GET /pools/{poolid}', { poolid: 'dev', type })) as { members: { id: string }[] }).members.map(
        (member) => member.id,
      );
    expect(await ids('qemu')).toEqual(['qemu/100']);
    expect(await ids('storage')).toEqual(['storage/pve1/local2']);
    expect(await ids('lxc')).toEqual([]);
  });

  it('removes the ACL entries on its path', async () => {
    grant(runtime, USER, '/pool/dev', ['Pool.Audit']);
    await send('DELETE /pools', { poolid: 'dev' });
    expect(runtime.world.access.acl.some((entry) => entry.path === '/pool/dev')).toBe(false);
  });
});

describe('members that come and go', () => {
  it('joins a pool, unless the pool no longer exists', async () => {
    await addVmToPool(runtime, 100, 'dev');
    expect(poolOfVm(runtime.world, 100)?.poolid).toBe('dev');
    await addVmToPool(runtime, 9000, 'gone');
    expect(poolOfVm(runtime.world, 9000)).toBeUndefined();
  });

  it('leaves no entries behind when a VM or a storage is removed', async () => {
    grant(runtime, USER, '/vms/100', ['VM.Audit']);
    grant(runtime, USER, '/storage/local2', ['Datastore.Audit']);
    await send('PUT /pools', { poolid: 'dev', vms: '100', storage: 'local2' });
    await removeVmAccess(runtime, 100);
    await removeStorageAccess(runtime, 'local2');
    expect(runtime.world.access.acl.some((entry) => entry.ugid === USER)).toBe(false);
    expect(runtime.world.pools.get('dev')).toMatchObject({ vms: new Set(), storages: new Set() });
  });
});
