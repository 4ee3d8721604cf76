import { describe, expect, it } from 'vitest';
import type { Runtime } from '../core/runtime.ts';
import type { RawParams } from '../schema/types.ts';
import { asyncRefusalOf, testCall } from '../testing/access.ts';
import { answerOf } from '../testing/answer.ts';
import { storageRuntime } from '../testing/storage.ts';

const send = (runtime: Runtime, route: string, params: RawParams) =>
  answerOf(route, testCall(runtime, 'root@pam'), params);
const refused = (runtime: Runtime, route: string, params: RawParams) =>
  asyncRefusalOf(() => send(runtime, route, params));

describe('storage definitions', () => {
  it('can be made, changed and removed', async () => {
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

  it('take their access rules and pool memberships with them', async () => {
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
