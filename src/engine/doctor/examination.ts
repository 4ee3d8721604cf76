/** Everything the doctor's checks look at, as plain data: read once by examine.ts, judged without asking again. */
import type { Address } from '../../base/address.ts';
import type { Clock, Instant } from '../../base/clock.ts';
import type { Transport } from '../../base/transport.ts';
import type { Observed, Readable, TemplateCandidate } from '../../kinds/observed.ts';
import type { PciHardware } from '../../kinds/pci-mapping/mapping.ts';
import type { StackState } from '../../kinds/recorded.ts';
import type { ResolvedStack, ResolvedVm } from '../../kinds/stack.ts';
import { drivesOf } from '../../kinds/vm/disks.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import { chooseTemplate, type TemplateChoice } from '../../kinds/vm/plan/choose-template.ts';
import type { ClusterStatusEntry, NodeStatus, TokenEntry, VmEntry } from '../../pve/index.ts';
import { storageOfVolume } from '../../pve/wire/index.ts';
import type { PlanResult } from '../plan.ts';
import type { Guess } from '../privileges/assumed.ts';
import type { PrivilegeCheck } from '../privileges/check.ts';

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
  readonly guesses: readonly Guess[];
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

/** The VM as it stands, else its template; nothing where neither is known. */
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

/** Names of storages that its disks lie on or will lie on. */
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
  /** Of every answer so far. */
  readonly tookMs: readonly number[];
  /** Server minus here, by the `Date` of each answer; it is given in whole seconds. */
  readonly skewsMs: readonly number[];
}

export class WireWatch implements WireTimes {
  readonly tookMs: number[] = [];
  readonly skewsMs: number[] = [];
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

/** The middle one; undefined of none. */
export function median(numbers: readonly number[]): number | undefined {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
