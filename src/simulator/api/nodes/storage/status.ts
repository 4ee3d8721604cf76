/** /nodes/{node}/storage and …/status: the storages as a node sees them. [source ST API2/Storage/Status.pm] */
import type { Call, CallTo, Routes } from '../../../core/call.ts';
import { paramFault } from '../../../http/response.ts';
import { storageSpace } from '../../../storage/space.ts';
import { contentText, splitList } from '../../../storage/storage-config.ts';
import { isOnNode, storageFormats } from '../../../storage/volumes.ts';
import { isServerSince } from '../../../world/releases.ts';
import type { Storage, World } from '../../../world/world.ts';
import { indexOf } from '../../indexes.ts';

export const nodeStorageRoutes: Routes = {
  'GET /nodes/{node}/storage': list,
  'GET /nodes/{node}/storage/{storage}': () => indexOf('subdir', SUBDIRECTORIES),
  'GET /nodes/{node}/storage/{storage}/status': status,
};

/** Rule [recorded storage-list-status]. */
const SUBDIRECTORIES = [
  'content',
  'download-url',
  'file-restore',
  'import-metadata',
  'identity',
  'oci-registry-pull',
  'prunebackups',
  'rrd',
  'rrddata',
  'status',
  'upload',
];

/** Rule [recorded storage-list-status]: both calls ask every enabled storage of the node, each for some 30 ms. */
const QUERY_MS = 30;
const SEEN_WITH = ['Datastore.Audit', 'Datastore.AllocateSpace'];

async function list(call: CallTo<'GET /nodes/{node}/storage'>): Promise<unknown> {
  const { world } = call.runtime;
  const content = call.params.content;
  const info = await storageInfo(call, content === undefined ? undefined : splitList(content));
  const only = call.params.storage;
  if (only !== undefined && !info.has(only)) throw paramFault({ storage: 'No such storage.' });
  const entries: Record<string, unknown>[] = [];
  for (const [id, data] of info) {
    const storage = world.storages.get(id);
    if (!storage || (only !== undefined && only !== id)) continue;
    if (!call.may(`/storage/${id}`, SEEN_WITH, { any: true })) continue;
    if (call.params.enabled && storage.disabled) continue;
    if (!isReachableFrom(storage, call)) continue;
    entries.push({
      storage: id,
      ...data,
      ...(call.params.format && data.enabled === 1 && formatInfo(call.runtime.world, storage)),
      ...(data.total > 0 && { used_fraction: data.used / data.total }),
    });
  }
  return entries;
}

/** Rule [recorded storage-list-status]: the old tuple is still shown next to `formats`. */
function formatInfo(world: World, storage: Storage): Record<string, unknown> {
  const formats = storageFormats(storage);
  const valid = Object.fromEntries(formats.supported.map((format) => [format, 1]));
  const tuple = { format: [valid, formats.default] };
  // Rule [source ST API2/Storage/Status.pm index of 8.3.6]: before 9.1 there is only the tuple.
  if (!isServerSince(world, '9.1')) return tuple;
  return { ...tuple, formats: { supported: formats.supported, default: formats.default } };
}

/** With `target`: only what both nodes share. */
function isReachableFrom(storage: Storage, call: CallTo<'GET /nodes/{node}/storage'>): boolean {
  const target = call.params.target;
  if (target === undefined || target === call.node || target === 'localhost') return true;
  return storage.shared && isOnNode(storage, call.node) && isOnNode(storage, target);
}

async function status(call: CallTo<'GET /nodes/{node}/storage/{storage}/status'>): Promise<unknown> {
  const info = await storageInfo(call, undefined);
  const data = info.get(call.params.storage);
  if (!data) throw paramFault({ storage: 'No such storage.' });
  return data;
}

interface StorageInfo {
  readonly type: string;
  readonly total: number;
  readonly avail: number;
  readonly used: number;
  readonly shared: 0 | 1;
  readonly content: string;
  readonly active: 0 | 1;
  readonly enabled: 0 | 1;
}

/** Rule [source ST Storage.pm storage_info]: disabled ones are listed, too, unless content types are requested. */
async function storageInfo(call: Call, contents: readonly string[] | undefined): Promise<Map<string, StorageInfo>> {
  const { world } = call.runtime;
  const info = new Map<string, StorageInfo>();
  let queried = 0;
  for (const storage of world.storages.values()) {
    const isEnabled = !storage.disabled && isOnNode(storage, call.node);
    if (contents && !(isEnabled && [...storage.content].some((content) => contents.includes(content)))) continue;
    if (isEnabled) queried++;
    info.set(storage.id, describe(world, storage, call.node, isEnabled));
  }
  await call.runtime.clock.sleep(queried * QUERY_MS);
  return info;
}

function describe(world: World, storage: Storage, node: string, isEnabled: boolean): StorageInfo {
  const space = isEnabled ? storageSpace(world, storage, node) : undefined;
  return {
    type: storage.type,
    total: space?.totalBytes ?? 0,
    avail: space?.availableBytes ?? 0,
    used: space?.usedBytes ?? 0,
    shared: storage.shared ? 1 : 0,
    content: contentText(storage),
    active: space ? 1 : 0,
    enabled: isEnabled ? 1 : 0,
  };
}
