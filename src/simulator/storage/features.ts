/** What can be done with a volume, per kind of storage, format and state. */
import type { World } from '../world/world.ts';
import { parseVolumeName, trySplitVolid } from './names.ts';
import { storageConfig } from './volumes.ts';

export type VolumeFeature = 'clone' | 'copy' | 'replicate' | 'snapshot' | 'sparseinit' | 'template' | 'rename';
type VolumeState = 'base' | 'current' | 'snap';
/** Formats for which the feature exists; `any` if the plugin does not check the format. */
type FeatureTable = Readonly<
  Partial<Record<VolumeFeature, Readonly<Partial<Record<VolumeState, 'any' | readonly string[]>>>>>
>;

const FILES = ['qcow2', 'raw', 'vmdk'];

/** Rule [source ST Storage/Plugin.pm volume_has_feature]. */
const FILE_FEATURES: FeatureTable = {
  snapshot: { current: ['qcow2'], snap: ['qcow2'] },
  clone: { base: FILES },
  template: { current: [...FILES, 'subvol'] },
  copy: { base: FILES, current: FILES, snap: ['qcow2'] },
  sparseinit: { base: FILES, current: FILES },
  rename: { current: FILES },
};

/** Rule [source ST Storage/LVMPlugin.pm volume_has_feature]: neither templates nor linked clones. */
const LVM_FEATURES: FeatureTable = {
  copy: { base: ['qcow2', 'raw'], current: ['qcow2', 'raw'], snap: ['qcow2'] },
  rename: { current: ['qcow2', 'raw'] },
  snapshot: { current: ['qcow2'], snap: ['qcow2'] },
};

/** Rule [source ST Storage/LvmThinPlugin.pm volume_has_feature]. */
const LVMTHIN_FEATURES: FeatureTable = {
  snapshot: { current: 'any' },
  clone: { base: 'any', snap: 'any' },
  template: { current: 'any' },
  copy: { base: 'any', current: 'any', snap: 'any' },
  sparseinit: { base: 'any', current: 'any' },
  rename: { current: 'any' },
};

/** Rule [source ST Storage/ZFSPoolPlugin.pm volume_has_feature]. */
const ZFS_FEATURES: FeatureTable = {
  snapshot: { current: 'any', snap: 'any' },
  clone: { base: 'any' },
  template: { current: 'any' },
  copy: { base: 'any', current: 'any' },
  sparseinit: { base: 'any', current: 'any' },
  replicate: { base: 'any', current: 'any' },
  rename: { current: 'any' },
};

/** Rule [source ST Storage/RBDPlugin.pm volume_has_feature]. */
const RBD_FEATURES: FeatureTable = {
  snapshot: { current: 'any', snap: 'any' },
  clone: { base: 'any', snap: 'any' },
  template: { current: 'any' },
  copy: { base: 'any', current: 'any', snap: 'any' },
  sparseinit: { base: 'any', current: 'any' },
  rename: { current: 'any' },
};

const TABLES = {
  dir: FILE_FEATURES,
  nfs: FILE_FEATURES,
  lvm: LVM_FEATURES,
  lvmthin: LVMTHIN_FEATURES,
  zfspool: ZFS_FEATURES,
  rbd: RBD_FEATURES,
} as const satisfies Readonly<Record<string, FeatureTable>>;

/** Rule [source ST Storage.pm volume_has_feature]: decided by the name alone; the volume need not exist. */
export function hasFeature(
  world: World,
  _node: string,
  feature: VolumeFeature,
  volid: string,
  options: { readonly snapshot?: string | undefined; readonly running?: boolean | undefined } = {},
): boolean {
  const split = trySplitVolid(volid);
  if (!split) return false;
  const storage = storageConfig(world, split.storage);
  const parsed = parseVolumeName(storage, split.name);
  const state: VolumeState = options.snapshot !== undefined ? 'snap' : parsed.isBase ? 'base' : 'current';
  const table: FeatureTable = TABLES[storage.type];
  const formats = table[feature]?.[state];
  return formats !== undefined && (formats === 'any' || formats.includes(parsed.format));
}
