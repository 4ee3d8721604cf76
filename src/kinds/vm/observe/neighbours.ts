/**
 * The VMs of the cluster that are not in the state, and the addresses they have: from `ipconfigN`, from the ownership line
 * of VMs with custom cloud-init files and, where a guest runs, from its agent. One pass, with limits; what could not be read is listed, because it may hold any address.
 */
import { hasCode, isFamily } from '../../../base/errors.ts';
import { parseIp, printIp } from '../../../base/values/ip-address.ts';
import type { Pve } from '../../../pve/client.ts';
import { isNotFound } from '../../../pve/errors/kinds.ts';
import type { Permissions } from '../../../pve/index.ts';
import { fromWireBoolean } from '../../../pve/wire/index.ts';
import { type GuestRow, MAX_AGE_MS } from '../../cluster.ts';
import type { Observed } from '../../observed.ts';
import type { StackState } from '../../recorded.ts';
import { macsOf, propertyOf } from '../config/parts.ts';
import { effectiveValues, readVm, type VmObserved } from '../observed.ts';
import { type NicAddresses, reportedAddresses } from '../ready/addresses.ts';
import { ipsInNotes } from '../seed/addresses.ts';
import { heldSeed } from '../seed/seed-place.ts';
import type { AddressHolder, NeighbourName, Neighbours, Network, UnreadNeighbour } from './observed-vms.ts';

/** Limits the requests in a large cluster. */
const MOST_READ = 500;
const MOST_AGENTS = 100;
/** A silent agent occupies a Proxmox worker for 3 s, so after this many no other agent is asked. */
const MOST_SILENT = 4;
/** As many as the client allows by default. */
const AGENTS_AT_ONCE = 2;

export interface NeighboursInput {
  readonly pve: Pve;
  readonly state: StackState;
  readonly nodes: Observed['nodes'];
  readonly guests: Observed['guests'];
  readonly signal: AbortSignal | undefined;
  /** Whether the list of guests is complete. */
  seesAll(): Promise<boolean>;
}

export async function readNeighbours(input: NeighboursInput): Promise<Neighbours> {
  const { state, guests, nodes } = input;
  const own = new Set(Object.values(state.vms).map(({ vmid }) => vmid));
  const others = [...guests.values()].filter(({ vmid, template }) => !template && !own.has(vmid));
  const unread: UnreadNeighbour[] = [];
  const asked = others.filter((row) => {
    const why = reasonToSkip(row, nodes);
    if (why !== undefined) unread.push({ ...nameOf(row), why });
    return why === undefined;
  });
  for (const row of asked.splice(MOST_READ)) unread.push({ ...nameOf(row), why: `is beyond the first ${MOST_READ}` });
  const [read, isComplete] = await Promise.all([readAll(input, asked, unread), input.seesAll()]);
  const vms = new Map(read.filter(({ template }) => !template).map((vm) => [vm.vmid, vm]));
  const reported = await askAgents(input, [...vms.values()].filter(isAskable));
  return { vms, ...addressesOf(vms, reported, unread), unread, isComplete };
}

function reasonToSkip({ type, node }: GuestRow, nodes: Observed['nodes']): string | undefined {
  if (type !== 'qemu') return 'is a container';
  return nodes.get(node)?.online === false ? 'is on a node that is offline' : undefined;
}

async function readAll(
  { pve, signal }: NeighboursInput,
  rows: readonly GuestRow[],
  unread: UnreadNeighbour[],
): Promise<VmObserved[]> {
  const read = await Promise.all(
    rows.map(async (row): Promise<VmObserved | undefined> => {
      try {
        return await readVm(pve, row.node, row.vmid, { running: row.running ?? false, signal });
      } catch (error) {
        if (isNotFound(error)) return undefined;
        if (!hasCode(error, 'PRIVILEGE_MISSING')) throw error;
        unread.push({ ...nameOf(row), why: `needs VM.Audit on /vms/${row.vmid}` });
        return undefined;
      }
    }),
  );
  return read.filter((vm) => vm !== undefined);
}

/**
 * The permissions of the token, read when first needed. The list of guests contains only those that the token may see.
 */
export class AskedPermissions {
  readonly #ask: () => Promise<Permissions>;
  readonly #isRoot: boolean;
  #answer: Promise<Permissions> | undefined;

  constructor(pve: Pve, signal: AbortSignal | undefined) {
    this.#ask = () => pve.access.permissions({}, { signal, maxAgeMs: MAX_AGE_MS.grants });
    this.#isRoot = pve.principal === 'root@pam';
  }

  async seesAllVms(): Promise<boolean> {
    if (this.#isRoot) return true;
    this.#answer ??= this.#ask();
    return (await this.#answer)['/vms']?.['VM.Audit'] === true;
  }

  /** Undefined where nothing was asked. */
  get answer(): Promise<Permissions> | undefined {
    return this.#answer;
  }
}

function isAskable({ running, current }: VmObserved): boolean {
  return running && (fromWireBoolean(propertyOf('agent', current.get('agent')).get('enabled') ?? '0') ?? false);
}

async function askAgents({ pve, signal }: NeighboursInput, vms: readonly VmObserved[]) {
  const reported = new Map<number, NicAddresses>();
  const queue = vms.slice(0, MOST_AGENTS);
  let silent = 0;
  const ask = async () => {
    for (let vm = queue.shift(); vm !== undefined && silent < MOST_SILENT; vm = queue.shift()) {
      try {
        const interfaces = await pve.node(vm.node).vm(vm.vmid).agent.networkGetInterfaces({ signal });
        const nics = Object.entries(macsOf(vm.current)).map(([slot, mac]) => ({ slot, mac, expected: [] }));
        reported.set(vm.vmid, reportedAddresses(nics, interfaces));
      } catch (error) {
        if (!isFamily(error, 'api') && !isFamily(error, 'auth') && !isFamily(error, 'busy')) throw error;
        // A refusal for lack of privileges costs nothing, but it would be the same for every other VM.
        silent += hasCode(error, 'PRIVILEGE_MISSING') ? MOST_SILENT : 1;
      }
    }
  };
  await Promise.all(Array.from({ length: AGENTS_AT_ONCE }, ask));
  return reported;
}

const UNREADABLE =
  'which Proxmox does not let anyone read, and its notes do not name them (the next change of that VM by its stack writes them there)';

/** Adds to `unread` the VMs whose addresses no client can read. */
export function addressesOf(
  vms: ReadonlyMap<number, VmObserved>,
  reported: ReadonlyMap<number, NicAddresses>,
  unread: UnreadNeighbour[],
): Pick<Neighbours, 'holders' | 'silent'> {
  const holders = new Map<string, AddressHolder[]>();
  const silent: NeighbourName[] = [];
  for (const vm of vms.values()) {
    const name = { vmid: vm.vmid, name: vm.current.get('name'), node: vm.node };
    const values = effectiveValues(vm);
    const configured = [...configuredAddresses(vm.current), ...configuredAddresses(values)];
    const seed = heldSeed(values);
    const noted = seed ? ipsInNotes(vm) : undefined;
    const fromAgent = Object.entries(reported.get(vm.vmid) ?? {});
    const claims = [
      ...configured.map(([slot, address]) => ({ slot, address, source: 'configuration' as const })),
      ...fromAgent.flatMap(([slot, all]) => all.map((address) => ({ slot, address, source: 'agent' as const }))),
      ...(noted ?? []).map(([slot, address]) => ({ slot, address, source: 'notes' as const })),
    ];
    for (const { slot, address, source } of claims) {
      const ip = parseIp(address);
      if (!ip) continue;
      const key = printIp(ip);
      const known = holders.get(key) ?? [];
      if (known.some(({ vmid }) => vmid === vm.vmid)) continue;
      holders.set(key, [...known, { ...name, source, network: networkOfNic(slot, values) }]);
    }
    if (reported.has(vm.vmid)) continue;
    // It may hold addresses in addition to those of ipconfig, or instead of them.
    if (seed && !noted) unread.push({ ...name, why: `has its addresses in ${seed.file}, ${UNREADABLE}` });
    else if (claims.length === 0) silent.push(name);
  }
  return { holders, silent };
}

/** NIC slot and address, of every static address that Proxmox's cloud-init drive gives. */
export function configuredAddresses(values: ReadonlyMap<string, string>): [slot: string, address: string][] {
  return [...values].flatMap(([key, text]): [string, string][] => {
    const number = /^ipconfig(\d+)$/.exec(key)?.[1];
    if (number === undefined) return [];
    const value = propertyOf(key, text);
    return ['ip', 'ip6'].flatMap((part): [string, string][] => {
      const address = value.get(part)?.replace(/\/\d+$/, '');
      return address !== undefined && parseIp(address) ? [[`net${number}`, address]] : [];
    });
  });
}

export function networkOfNic(slot: string, values: ReadonlyMap<string, string>): Network {
  const text = values.get(slot);
  if (text === undefined) return { bridge: undefined, vlan: undefined };
  const nic = propertyOf(slot, text);
  return { bridge: nic.get('bridge'), vlan: Number(nic.get('tag') ?? 0) };
}

function nameOf({ vmid, name, node }: GuestRow): NeighbourName {
  return { vmid, name, node };
}
