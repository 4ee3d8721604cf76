/** What the doctor's checks look at, as plain data: examine.ts reads it once, and the checks make no further requests. */
import type { Address } from '../../base/address.ts';
import type { Clock, Instant } from '../../base/clock.ts';
import type { Transport } from '../../base/transport.ts';
import type { Observed, Readable, TemplateCandidate } from '../../kinds/observed.ts';
import type { PciHardware } from '../../kinds/pci-mapping/mapping.ts';
import type { StackState } from '../../kinds/recorded.ts';
import type { ResolvedStack, ResolvedVm } from '../../kinds/stack.ts';
import { drivesOf } from '../../kinds/vm/config/disks.ts';
import { chooseTemplate, type TemplateChoice } from '../../kinds/vm/plan/choices/choose-template.ts';
import type { ClusterStatusEntry, NodeStatus, TokenEntry, VmEntry } from '../../pve/index.ts';
import { storageOfVolume } from '../../pve/wire/index.ts';
import type { PlanResult } from '../plan.ts';
import type { PrivilegeCheck } from '../privileges/check.ts';

/** How the server's certificate is verified. */
export interface TrustSeen {
  readonly kind: 'system' | 'ca' | 'fingerprint' | 'none';
  /** The pinned one. */
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
  /** `observed` with the templates that the plan will build. */
  readonly foreseen: Observed;
  /** Problems already say if the token lacks the privilege to see something. */
  readonly result: PlanResult;
  readonly rights: RightsSeen;
  /** The token's entry in the list of its user; undefined for a login with a password. */
  readonly token: Readable<TokenEntry | undefined>;
  readonly cluster: Readable<readonly ClusterStatusEntry[]>;
  /** Nodes of the stack that exist and are online. */
  readonly nodes: ReadonlyMap<string, ObservedNode>;
  /** Volumes of templates by `node/storage/vmid`. */
  readonly volumes: ReadonlyMap<string, Readable<ReadonlySet<string>>>;
  /** What web servers report about images to download, by address. */
  readonly downloads: ReadonlyMap<Address, DownloadAnswer>;
}

export type DownloadAnswer =
  | { readonly kind: 'there'; readonly sizeBytes: number | undefined }
  | { readonly kind: 'hidden'; readonly needs: string }
  /** The node's message. */
  | { readonly kind: 'failed'; readonly words: string };

export interface RightsSeen {
  readonly check: PrivilegeCheck;
  /** Whether the token has any privilege on any path. */
  readonly hasAny: boolean;
  /** Computed from the plan or, if there is none, from the file, assuming that everything it refers to exists. */
  readonly basis: 'plan' | 'assumed';
  readonly guesses: readonly string[];
}

export interface ObservedNode {
  readonly status: Readable<NodeStatus>;
  /** Only those that the token may see. */
  readonly vms: readonly VmEntry[];
  /** Read only if the stack passes devices through. */
  readonly devices?: Readable<readonly PciHardware[]>;
}

export function volumeKey({ node, vmid }: Pick<TemplateCandidate, 'node' | 'vmid'>, storage: string): string {
  return `${node}/${storage}/${vmid}`;
}

/** Configuration of the VM or, if it does not exist yet, of its template; empty if neither is known. */
export function baseOf(vm: ResolvedVm, observed: Observed): ReadonlyMap<string, string> {
  const found = observed.vms.get(vm.address);
  if (found?.kind === 'present') return found.vm.current;
  return templateOf(vm, observed)?.vm.current ?? new Map();
}

export function templateOf(vm: ResolvedVm, observed: Observed): (TemplateChoice & { ok: true }) | undefined {
  const choice = vm.fields.clone && chooseTemplate(vm, observed);
  return choice?.ok ? choice : undefined;
}

export function isThere(vm: ResolvedVm, observed: Observed): boolean {
  const kind = observed.vms.get(vm.address)?.kind;
  return kind === 'present' || kind === 'hidden';
}

/** Storages that its disks are on or will be on. */
export function storagesOf(vm: ResolvedVm, observed: Observed): Set<string> {
  const { clone, disks = {}, efi, tpm, cloud_init } = vm.fields;
  const inherited = drivesOf(baseOf(vm, observed)).flatMap(({ volume }) => (volume && storageOfVolume(volume)) ?? []);
  const given = Object.values(disks).flatMap(({ storage, iso }) => [
    storage,
    typeof iso === 'string' ? iso.split(':')[0] : undefined,
  ]);
  const kept = clone?.storage !== undefined && !isThere(vm, observed) ? [] : inherited;
  const all = [...kept, clone?.storage, ...given, efi?.storage, tpm?.storage, cloud_init?.storage];
  return new Set(all.filter((storage): storage is string => storage !== undefined));
}

export interface WireTimes {
  /** One duration for every response. */
  readonly tookMs: readonly number[];
  /** Server time minus local time, from the `Date` header of each response, which has whole seconds. */
  readonly skewsMs: readonly number[];
  /** How much faster than real time the server's clock runs on purpose; only a simulator has another value than 1. */
  readonly speed?: number;
}

export class WireWatch implements WireTimes {
  readonly tookMs: number[] = [];
  readonly skewsMs: number[] = [];
  speed = 1;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch(transport: Transport): Transport {
    return {
      send: async (request, options) => {
        const sentAt = this.#clock.now();
        const response = await transport.send(request, options);
        const receivedAt = this.#clock.now();
        this.tookMs.push(receivedAt - sentAt);
        const serverAt = parseHttpDate(response.headers.date);
        if (serverAt !== undefined) this.skewsMs.push(serverAt - (sentAt + receivedAt) / 2);
        return response;
      },
      close: () => transport.close(),
    };
  }
}

function parseHttpDate(text: string | undefined): Instant | undefined {
  const at = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

export function median(numbers: readonly number[]): number | undefined {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
