/** Images in a stack: what the file says about them. */
import type { Address } from '../../base/address.ts';
import type { Where } from '../../base/diagnostics.ts';
import type { ImageFields } from './fields.ts';

export interface ImagesInStack {
  readonly images: readonly ResolvedImage[];
}

export interface ResolvedImage {
  readonly name: string;
  /** `image.NAME`; on local storage each node has one, and the engine adds the node: `image.NAME["node"]`. */
  readonly address: Address;
  readonly fields: ImageFields;
  /** Name in the storage, with an extension that Proxmox accepts. */
  readonly file: string;
  /** Nodes that the file names, and those whose templates and VMs use it; none while only empty groups do. */
  readonly nodes: readonly string[];
  /** VMs that use it and whose node the plan chooses: their nodes are added then. */
  readonly chosenFor?: readonly Address[];
  readonly positions: Readonly<Record<string, Where>>;
}
