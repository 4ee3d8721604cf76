/** Everything the doctor's checks look at, as plain data: read once by examine.ts, judged without asking again. */
import type { Address } from '../../base/address.ts';
import type { Instant } from '../../base/clock.ts';
import type { Observed, Readable, TemplateCandidate } from '../../kinds/observed.ts';
import type { PciHardware } from '../../kinds/pci-mapping/mapping.ts';
import type { StackState } from '../../kinds/recorded.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import type { ClusterStatusEntry, NodeStatus, TokenEntry, VmEntry } from '../../pve/index.ts';
import type { PlanResult } from '../plan.ts';
import type { PrivilegeCheck } from '../privileges/check.ts';
import type { WireTimes } from './wire-times.ts';

/** How the server's certificate is believed. */
export interface TrustSeen {
  readonly kind: 'system' | 'ca' | 'fingerprint' | 'none';
  /** The one that is pinned. */
  readonly fingerprint?: string;
}

export interface Examination {
  readonly now: Instant;
  readonly endpoint: string;
  readonly principal: string;
  readonly trust: TrustSeen;
  readonly wire: WireTimes;
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  /** With the templates that the stack will have built. */
  readonly foreseen: Observed;
  /** Problems with what the token may not see taken into account. */
  readonly result: PlanResult;
  readonly rights: RightsSeen;
  /** The token's own entry in the list of its user; undefined for a login with a password. */
  readonly token: Readable<TokenEntry | undefined>;
  readonly cluster: Readable<readonly ClusterStatusEntry[]>;
  /** Nodes that the stack names, as far as they exist and answer. */
  readonly nodes: ReadonlyMap<string, NodeSight>;
  /** VMs of others that may be read. */
  readonly neighbours: Neighbours;
  /** Volumes of templates by `node/storage/vmid`. */
  readonly volumes: ReadonlyMap<string, Readable<ReadonlySet<string>>>;
  /** What web servers say of images that are to be fetched, by address. */
  readonly downloads: ReadonlyMap<Address, DownloadSight>;
}

export type DownloadSight =
  | { readonly kind: 'there'; readonly sizeBytes: number | undefined }
  | { readonly kind: 'hidden'; readonly needs: string }
  /** In the words of the node. */
  | { readonly kind: 'failed'; readonly words: string };

export interface RightsSeen {
  readonly check: PrivilegeCheck;
  /** Whether anything is granted to the token anywhere. */
  readonly hasAny: boolean;
  /** The plan itself, or what the file would need if everything it names were there. */
  readonly basis: 'plan' | 'assumed';
  /** What had to be guessed. */
  readonly notes: readonly string[];
}

export interface NodeSight {
  readonly status: Readable<NodeStatus>;
  /** Only those the token may see. */
  readonly vms: readonly VmEntry[];
  /** Read only where the stack passes devices on. */
  readonly devices?: Readable<readonly PciHardware[]>;
}

export interface Neighbours {
  readonly vms: ReadonlyMap<number, VmObserved>;
  /** Seen in the list and not read: too many, or not allowed. */
  readonly unread: number;
  /** Whether the token sees everybody's VMs. */
  readonly isComplete: boolean;
}

export function volumeKey({ node, vmid }: Pick<TemplateCandidate, 'node' | 'vmid'>, storage: string): string {
  return `${node}/${storage}/${vmid}`;
}
