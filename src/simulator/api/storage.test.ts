import { describe, expect, it } from 'vitest';
import type { Runtime } from '../core/runtime.ts';
import type { RawParams } from '../schema/types.ts';
import { asyncRefusalOf, testCall } from '../testing/access.ts';
import { answerOf } from '../testing/answer.ts';
import { type StorageRuntime, storageRuntime } from '../testing/storage.ts';

const send = (runtime: Runtime, route: string, params: RawParams) =>
  answerOf(route, testCall(runtime, 'root@pam'), params);
const refused = (runtime: Runtime, route: string, params: RawParams) =>
  asyncRefusalOf(() => send(runtime, route, params));

const contentOf = (runtime: StorageRuntime, storage: string) =>
  runtime.clock.run(() =>
    send(runtime, 'GET /nodes/{node}/storage/{storage}/content', { node: 'pve1', storage }),
  ) as Promise<unknown[]>;

describe('storage definitions', () => {
  it('can be created, changed and removed', async () => {
    const runtime = storageRuntime();
    const made = { storage: 'extra', type: 'dir', path: '/srv/extra', content: 'iso,images', nodes: 'pve1' };
    expect(await send(runtime, 'POST /storage', made)).toEqual({ storage: 'extra', type: 'dir' });
    await send(runtime, 'PUT /storage/{storage}', { storage: 'extra', disable: 1, delete: 'nodes,content' });
    const entry = await send(runtime, 'GET /storage/{storage}', { storage: 'extra' });
    expect(entry).toMatchObject({ storage: 'extra', path: '/srv/extra', content: 'images,rootdir', disable: 1 });
    expect(entry).not.toHaveProperty('nodes');
    expect(await send(runtime, 'DELETE /storage/{storage}', { storage: 'extra' })).toBeNull();
    expect(await refused(runtime, 'GET /storage/{storage}', { storage: 'extra' })).toBe(
      "500 storage 'extra' does not exist",
    );
  });

  it('lift a restriction to nodes by an empty list, and keep a boolean that is 0', async () => {
    const runtime = storageRuntime();
    await send(runtime, 'PUT /storage/{storage}', { storage: 'local', nodes: 'pve1', shared: 0, disable: 0 });
    const restricted = await send(runtime, 'GET /storage/{storage}', { storage: 'local' });
    expect(restricted).toMatchObject({ nodes: 'pve1', shared: 0 });
    expect(restricted).not.toHaveProperty('disable');
    await send(runtime, 'PUT /storage/{storage}', { storage: 'local', nodes: '' });
    expect(await send(runtime, 'GET /storage/{storage}', { storage: 'local' })).not.toHaveProperty('nodes');
  });

  it('leave their files behind; a new definition of the same path finds them', async () => {
    const runtime = storageRuntime();
    const made = { storage: 'one', type: 'dir', path: '/srv/one', content: 'images' };
    await send(runtime, 'POST /storage', made);
    const disk = { node: 'pve1', vmid: 100, filename: 'vm-100-disk-7.raw', size: '1G' };
    await runtime.clock.run(() =>
      send(runtime, 'POST /nodes/{node}/storage/{storage}/content', { ...disk, storage: 'one' }),
    );
    await send(runtime, 'DELETE /storage/{storage}', { storage: 'one' });
    await send(runtime, 'POST /storage', { ...made, storage: 'other', path: '/srv/other' });
    await send(runtime, 'POST /storage', { ...made, storage: 'again' });
    const content = (storage: string) => contentOf(runtime, storage);
    expect(await content('other')).toEqual([]);
    expect(await content('again')).toMatchObject([{ volid: 'again:100/vm-100-disk-7.raw', vmid: 100 }]);
  });

  it('are online if another NFS storage with the same server and export is', async () => {
    const runtime = storageRuntime();
    const { server, export: path } = Object.fromEntries(runtime.world.storages.get('share')?.options ?? []);
    const made = { storage: 'nfs2', type: 'nfs', server: server ?? '', export: path ?? '' };
    expect(await send(runtime, 'POST /storage', made)).toEqual({ storage: 'nfs2', type: 'nfs' });
    const status = await runtime.clock.run(() =>
      send(runtime, 'GET /nodes/{node}/storage/{storage}/status', { node: 'pve1', storage: 'nfs2' }),
    );
    expect(status).toMatchObject({ active: 1 });
  });

  it('show the same files on every node when a local storage becomes shared', async () => {
    const runtime = storageRuntime();
    const count = async () => (await contentOf(runtime, 'local')).length;
    const before = await count();
    expect(before).toBeGreaterThan(0);
    await send(runtime, 'PUT /storage/{storage}', { storage: 'local', shared: 1 });
    expect(await count()).toBe(before);
    await send(runtime, 'PUT /storage/{storage}', { storage: 'local', delete: 'shared' });
    expect(await count()).toBe(before);
  });

  it('are not active if the required mount point is missing', async () => {
    const runtime = storageRuntime();
    const made = { storage: 'disk', type: 'dir', path: '/mnt/disk', is_mountpoint: '1' };
    expect(await refused(runtime, 'POST /storage', made)).toBe(
      "500 create storage failed: unable to activate storage 'disk' - directory is expected to be a mount point but is not mounted: '/mnt/disk'",
    );
  });

  it('are removed together with their ACL entries and pool memberships', async () => {
    const runtime = storageRuntime();
    const { access, pools } = runtime.world;
    access.acl.push({ path: '/storage/thin', kind: 'user', ugid: 'a@pve', role: 'PVEAdmin', propagate: true });
    pools.set('p', { poolid: 'p', comment: undefined, vms: new Set(), storages: new Set(['thin', 'local']) });
    await send(runtime, 'DELETE /storage/{storage}', { storage: 'thin' });
    expect(access.acl.some(({ path }) => path === '/storage/thin')).toBe(false);
    expect([...(pools.get('p')?.storages ?? [])]).toEqual(['local']);
  });

  it.each([
    [
      'POST /storage',
      { storage: 'local', type: 'dir', path: '/x' },
      "create storage failed: storage ID 'local' already defined",
    ],
    ['POST /storage', { storage: 'new', type: 'dir' }, "missing value for required option 'path'"],
    ['POST /storage', { storage: 'new', type: 'dir', path: '/x', pool: 'y' }, "unexpected property 'pool'"],
    [
      'POST /storage',
      { storage: 'new', type: 'nfs', server: 'nas', export: '/no' },
      "create storage failed: storage 'new' is not online",
    ],
    [
      'PUT /storage/{storage}',
      { storage: 'local', 'snapshot-as-volume-chain': 1 },
      "update storage failed: can't change value of fixed parameter 'snapshot-as-volume-chain'",
    ],
    [
      'PUT /storage/{storage}',
      { storage: 'local', delete: 'path' },
      "update storage failed: unable to delete required option 'path'",
    ],
    [
      'PUT /storage/{storage}',
      { storage: 'local', disable: 1, digest: 'old' },
      'update storage failed: detected modified configuration - file changed by other user? Try again.',
    ],
    ['DELETE /storage/{storage}', { storage: 'nosuch' }, "delete storage failed: storage 'nosuch' does not exist"],
  ])('%s %j is refused', async (route, params, text) => {
    expect(await refused(storageRuntime(), route, params)).toBe(`500 ${text}`);
  });
});
