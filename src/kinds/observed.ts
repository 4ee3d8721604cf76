/**
 * What the cluster reports about the resources of a stack: plain data, the third input of a plan. Each kind declares its
 * part in its own folder; here they are put together.
 */
import type { Permissions } from '../pve/index.ts';
import type { GuestRow, NodeRow, Readable, StorageRow } from './cluster.ts';
import { type HaRulesObserved, NO_HA_RULES } from './ha-rule/observed.ts';
import { type ImagesObserved, NO_IMAGES } from './image/observed.ts';
import { NO_PCI_MAPPINGS, type PciMappingsObserved } from './pci-mapping/observed.ts';
import { NO_TEMPLATES, type TemplatesObserved } from './template/observed.ts';
import { NO_VMS, type VmsObserved } from './vm/observe/observed-vms.ts';

export interface Observed extends ImagesObserved, PciMappingsObserved, TemplatesObserved, VmsObserved, HaRulesObserved {
  readonly version: { readonly version: string; readonly release: string };
  readonly nodes: ReadonlyMap<string, NodeRow>;
  /** Guests the token may see, by id. */
  readonly guests: ReadonlyMap<number, GuestRow>;
  readonly storages: ReadonlyMap<string, Readable<readonly StorageRow[]>>;
  /**
   * What the token may do, on the top paths and on those with their own entries; read only if something depends on it.
   */
  readonly permissions?: Permissions;
}

/** What the kinds observe in a cluster that has nothing of theirs. */
export const NOTHING_OBSERVED = { ...NO_IMAGES, ...NO_PCI_MAPPINGS, ...NO_TEMPLATES, ...NO_VMS, ...NO_HA_RULES };
