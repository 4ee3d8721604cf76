/** Reads which images of the stack exist: one list for each storage that has to hold some. */
import type { Pve } from '../../pve/client.ts';
import { type Readable, readIfAllowed, type StorageRow } from '../cluster.ts';
import { imageVolid } from './file.ts';
import type { ImageSite } from './observed.ts';
import type { ResolvedImage } from './stack.ts';

type Storages = ReadonlyMap<string, Readable<readonly StorageRow[]>>;
type Files = Readable<
  ReadonlyMap<string, { readonly sizeBytes: number | undefined; readonly ctime: number | undefined }>
>;

export async function observeImages(
  pve: Pve,
  images: readonly ResolvedImage[],
  storages: Storages,
  signal: AbortSignal | undefined,
): Promise<ImageSite[]> {
  const lists = new Map<string, Promise<Files>>();
  const listOf = (node: string, storage: string): Promise<Files> => {
    const key = `${node}/${storage}`;
    const known = lists.get(key) ?? readFiles(pve, node, storage, signal);
    lists.set(key, known);
    return known;
  };
  const sites = images.flatMap((image) => sitesOf(image, storages));
  return Promise.all(
    sites.map(async (site): Promise<ImageSite> => {
      const { fields, file } = site.image;
      if (!site.row?.active) return { ...site, file: { ok: true, value: undefined } };
      const files = await listOf(site.node, fields.storage);
      const volume = imageVolid(fields.storage, fields.content, file);
      return { ...site, file: files.ok ? { ok: true, value: files.value.get(volume) } : files };
    }),
  );
}

type Site = Omit<ImageSite, 'file'>;

/** On shared storage one node transfers the file for all. Offline nodes have no storages. */
function sitesOf(image: ResolvedImage, storages: Storages): Site[] {
  const sites = image.nodes.flatMap((node): Site[] => {
    const rows = storages.get(node);
    const row = rows?.ok ? rows.value.find(({ storage }) => storage === image.fields.storage) : undefined;
    return [{ image, node, row, isRead: rows?.ok === true, isShared: row?.shared === true }];
  });
  const [shared] = sites.filter(({ isShared, row }) => isShared && row?.active);
  return shared ? [shared, ...sites.filter(({ isShared }) => !isShared)] : sites;
}

async function readFiles(pve: Pve, node: string, storage: string, signal: AbortSignal | undefined): Promise<Files> {
  const read = async () => {
    const volumes = await pve.node(node).storage(storage).content.list({}, { signal });
    return new Map(volumes.map(({ volid, size, ctime }) => [volid, { sizeBytes: size, ctime }]));
  };
  return readIfAllowed(read, `Datastore.Audit or Datastore.AllocateSpace on /storage/${storage}`);
}
