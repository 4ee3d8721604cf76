/** The storages of the copy: type, content, room and volumes, and the file systems of the nodes that hold them. */
import type { NodeStorageEntry, VolumeEntry } from '../../pve/index.ts';
import type { WorldFile } from '../../simulator/index.ts';
import { parseVolumeName } from '../../simulator/storage/names.ts';
import type { ContentType, StorageType } from '../../simulator/world/world.ts';
import type { ClusterFacts } from './read-cluster.ts';

export type StorageFile = NonNullable<WorldFile['storages']>[string];
export type VolumeFile = NonNullable<StorageFile['volumes']>[number];
export type FileSystems = NonNullable<WorldFile['nodes'][string]['filesystems']>;

export interface CopiedStorages {
  readonly storages: Readonly<Record<string, StorageFile>>;
  /** By node. */
  readonly filesystems: ReadonlyMap<string, FileSystems>;
  readonly assumptions: readonly string[];
}

/** Types that are not simulated, and the closest simulated one. */
const NEAREST: Readonly<Record<string, StorageType>> = {
  cifs: 'nfs',
  cephfs: 'nfs',
  glusterfs: 'nfs',
  btrfs: 'dir',
  zfs: 'rbd',
};
const SIMULATED: readonly string[] = ['dir', 'nfs', 'lvmthin', 'lvm', 'zfspool', 'rbd'];
const CONTENTS: readonly string[] = ['images', 'rootdir', 'iso', 'vztmpl', 'backup', 'snippets', 'import'];
/** Not those that name a secret or a file with one. */
const OPTIONS = [
  'vgname',
  'thinpool',
  'pool',
  'server',
  'export',
  'format',
  'preallocation',
  'sparse',
  'blocksize',
  'bwlimit',
];

export interface StoragesInput {
  readonly facts: ClusterFacts;
  readonly entryNode: string;
  /** Bytes a second that copies reach, by storage. */
  readonly copySpeed: (storage: string) => number;
  /** Names the guest profile on a volume. */
  readonly guestOn: (volid: string) => string | undefined;
  /** Storages that configurations name and the token does not see, with a volume of each. */
  readonly referenced: ReadonlyMap<string, string>;
}

export function copiedStorages(input: StoragesInput): CopiedStorages {
  const { facts, entryNode, referenced } = input;
  const assumptions: string[] = [];
  const storages: Record<string, StorageFile> = {};
  const filesystems = new Map<string, FileSystems>([...facts.nodes.keys()].map((node) => [node, {}]));
  const rows = rowsByStorage(facts);
  const names = fileSystemNames(rows);
  for (const [id, { sample, nodes }] of rows) {
    const type = typeOf(sample.type);
    if (sample.type !== type) assumptions.push(`Storage ${id} (${sample.type}) behaves like ${type}.`);
    const definition = facts.storages.find(({ storage }) => storage === id);
    const shared = sample.shared ?? false;
    const filesystem = names.get(id) ?? id;
    const volumes = volumesOf(input, id, shared, type, (node) => nodes.get(node)?.used, assumptions);
    for (const [node, row] of shared ? [firstActive(nodes, entryNode)] : nodes) {
      // A storage that is not active has no file system below it.
      if (!row.active || row.total === undefined) continue;
      const own = volumes.filter((volume) => shared || volume.node === node);
      const usedBytes = own.reduce((sum, volume) => sum + Number(volume.used ?? 0), 0);
      const holder = shared ? entryNode : node;
      const known = filesystems.get(holder) ?? {};
      filesystems.set(holder, { ...known, [filesystem]: roomOf(row, usedBytes, known[filesystem]) });
    }
    const text = (key: string) => (definition as Readonly<Record<string, unknown>> | undefined)?.[key];
    const path = text('path');
    storages[id] = {
      type,
      content: sample.content.filter((each): each is ContentType => CONTENTS.includes(each)),
      shared,
      disabled: [...nodes.values()].every(({ enabled }) => enabled === false) && definition?.disable === true,
      ...(typeof path === 'string' && (type === 'dir' || type === 'nfs') && { path }),
      ...(definition?.nodes && { nodes: definition.nodes.filter((node) => facts.nodes.has(node)) }),
      filesystem,
      bandwidth: Math.round(input.copySpeed(id)),
      options: Object.fromEntries(
        OPTIONS.flatMap((key) => (text(key) === undefined ? [] : [[key, String(text(key))]])),
      ),
      volumes,
    };
  }
  for (const [id, name] of referenced) {
    if (storages[id]) continue;
    storages[id] = { type: name.includes('/') ? 'dir' : 'lvmthin', content: ['images'], filesystem: `unseen-${id}` };
    assumptions.push(`Storage ${id} is not visible to the token: its type and room are assumed.`);
    for (const [node, known] of filesystems) {
      filesystems.set(node, { ...known, [`unseen-${id}`]: { total: '10T' } });
    }
  }
  return { storages, filesystems, assumptions };
}

interface StorageRows {
  readonly sample: NodeStorageEntry;
  readonly nodes: ReadonlyMap<string, NodeStorageEntry>;
}
type Rows = ReadonlyMap<string, StorageRows>;

function rowsByStorage(facts: ClusterFacts): Rows {
  const rows = new Map<string, { sample: NodeStorageEntry; nodes: Map<string, NodeStorageEntry> }>();
  for (const [node, { storages }] of facts.nodes) {
    for (const row of storages) {
      const known = rows.get(row.storage) ?? { sample: row, nodes: new Map() };
      known.nodes.set(node, row);
      rows.set(row.storage, known);
    }
  }
  return rows;
}

function typeOf(type: string): StorageType {
  return (SIMULATED.includes(type) ? type : (NEAREST[type] ?? 'nfs')) as StorageType; // one of the list
}

function firstActive(nodes: ReadonlyMap<string, NodeStorageEntry>, entryNode: string): [string, NodeStorageEntry] {
  const own = nodes.get(entryNode);
  const found = own?.active ? ([entryNode, own] as const) : ([...nodes].find(([, row]) => row.active) ?? [...nodes][0]);
  return found as [string, NodeStorageEntry]; // a storage has at least one row
}

/** Directories that report the same space everywhere are on one file system: they share its free space. */
function fileSystemNames(rows: Rows): Map<string, string> {
  const isSame = (one: StorageRows, other: StorageRows) =>
    one.nodes.size === other.nodes.size &&
    [...one.nodes].every(([node, row]) => {
      const there = other.nodes.get(node);
      return (
        row.type === 'dir' &&
        there?.type === 'dir' &&
        !row.shared &&
        !there.shared &&
        Boolean(row.total) &&
        there.total === row.total &&
        there.avail === row.avail
      );
    });
  return new Map([...rows].map(([id, row]) => [id, [...rows].find(([, other]) => isSame(row, other))?.[0] ?? id]));
}

type FileSystem = FileSystems[string];

/** On a file system with several storages, the content of each of them does not count as foreign. */
function roomOf(row: NodeStorageEntry, usedBytes: number, known: FileSystem | undefined): FileSystem {
  const total = row.total ?? 0;
  const used = row.used ?? 0;
  const foreign = Math.max(0, (known ? Number(known.foreign ?? 0) : used) - usedBytes);
  const reserved = Math.max(0, total - used - (row.avail ?? 0));
  return { total, foreign, reserved };
}

function volumesOf(
  { facts, guestOn }: StoragesInput,
  id: string,
  shared: boolean,
  type: StorageType,
  usedOn: (node: string) => number | undefined,
  assumptions: string[],
): VolumeFile[] {
  const listed = [...facts.volumes].flatMap(([place, entries]) =>
    place.endsWith(`/${id}`) ? entries.map((entry) => ({ node: place.slice(0, -id.length - 1), entry })) : [],
  );
  const sizeOf = (entry: VolumeEntry) => entry.size ?? entry['approximate-size'] ?? 0;
  const isUntold = (entry: VolumeEntry) => entry.content === 'images' && entry.used === undefined;
  if (listed.some(({ entry }) => isUntold(entry))) {
    assumptions.push(
      `Storage ${id} does not report how full each disk is: its used space is divided among them by size.`,
    );
  }
  /** The share of its size that a disk uses. */
  const fullness = (node: string): number => {
    const here = listed.filter((each) => shared || each.node === node).map(({ entry }) => entry);
    const told = here
      .filter((entry) => !isUntold(entry))
      .reduce((sum, entry) => sum + (entry.used ?? sizeOf(entry)), 0);
    const untold = here.filter(isUntold).reduce((sum, entry) => sum + sizeOf(entry), 0);
    const left = (usedOn(node) ?? told + untold) - told;
    return untold === 0 ? 1 : Math.min(1, Math.max(0, left / untold));
  };
  const unknown = listed.filter(({ entry }) => !isSimulated(id, type, nameOf(entry)));
  if (unknown.length > 0)
    assumptions.push(`${unknown.length} volumes of ${id} have names that the simulator does not know.`);
  return listed
    .filter((each) => !unknown.includes(each))
    .map(({ node, entry }) => {
      const size = sizeOf(entry);
      const used = entry.used ?? (isUntold(entry) ? Math.floor(size * fullness(node)) : size);
      const guest = guestOn(entry.volid);
      return {
        name: nameOf(entry),
        ...(!shared && { node }),
        size,
        used,
        data: used,
        ...(entry.ctime !== undefined && { ctime: entry.ctime }),
        ...(guest !== undefined && { guest }),
      };
    });
}

const nameOf = ({ volid }: Pick<VolumeEntry, 'volid'>) => volid.slice(volid.indexOf(':') + 1);

/** Whether a storage of this type has volumes with such names. */
export function isSimulated(id: string, type: StorageType, name: string): boolean {
  try {
    parseVolumeName({ id, type } as never, name); // only the type decides
    return true;
  } catch {
    return false;
  }
}
