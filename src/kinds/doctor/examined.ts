/** What the doctor's checks of the kinds look at, as plain data: read once, and the checks make no further requests. */
import type { Address } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import type { Pve } from '../../pve/client.ts';
import type { ServerVersion } from '../../pve/compatibility.ts';
import type { NodeStatus, VmEntry } from '../../pve/index.ts';
import type { Plan } from '../change.ts';
import type { Observed, Readable } from '../observed.ts';
import type { PciHardware } from '../pci-mapping/mapping.ts';
import type { StackState } from '../recorded.ts';
import type { ResolvedStack } from '../stack.ts';
import type { CheckName, Finding } from './finding.ts';

export interface Examined {
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly observed: Observed;
  /** `observed` with the templates that the plan will build. */
  readonly foreseen: Observed;
  /** Problems already say if the token lacks the privilege to see something. */
  readonly result:
    | { readonly ok: true; readonly plan: Plan }
    | { readonly ok: false; readonly problems: readonly Diagnostic[] };
  /** Nodes of the stack that exist and are online. */
  readonly nodes: ReadonlyMap<string, ObservedNode>;
  /** PCI devices by node; only of nodes on which the stack passes devices through. */
  readonly devices: ReadonlyMap<string, Readable<readonly PciHardware[]>>;
  /** Volumes of templates by `node/storage/vmid`. */
  readonly volumes: ReadonlyMap<string, Readable<ReadonlySet<string>>>;
  /** What web servers report about images to download, by address. */
  readonly downloads: ReadonlyMap<Address, DownloadAnswer>;
}

export interface ObservedNode {
  readonly status: Readable<NodeStatus>;
  /** Only those that the token may see. */
  readonly vms: readonly VmEntry[];
}

export type DownloadAnswer =
  | { readonly kind: 'there'; readonly sizeBytes: number | undefined }
  | { readonly kind: 'hidden'; readonly needs: string }
  /** The node's message. */
  | { readonly kind: 'failed'; readonly words: string };

/** Pure. */
export type Check = (examined: Examined) => readonly Finding[];

/** At most one kind has a check of a name; the engine has the others. */
export type Checks = Readonly<Partial<Record<CheckName, Check>>>;

export interface ExamineContext {
  readonly pve: Pve;
  readonly signal: AbortSignal | undefined;
  /** As the file has it. */
  readonly stack: ResolvedStack;
  /** With the nodes that the plan chose. */
  readonly placed: ResolvedStack;
  readonly observed: Observed;
  readonly grants: {
    /** Reads the privileges on these paths. */
    ask(paths: readonly string[]): Promise<unknown>;
    on(path: string): { has(privilege: string): boolean };
  };
}

/** What a kind reads for its checks. */
export type ExaminedPart = Partial<Pick<Examined, 'nodes' | 'devices' | 'volumes' | 'downloads'>>;

export interface UpgradeContext {
  readonly from: ServerVersion;
  readonly to: ServerVersion;
  readonly stack: ResolvedStack;
  readonly observed: Observed;
}
