/**
 * Which VM is on which node, and the room that this leaves. It alone decides whether a VM fits on a node, why not, and
 * which of two nodes is better. It knows neither files nor the cluster. It is mutable, but no caller sees it change.
 */

/** What a choice depends on. Values that the token may not read are undefined and are not compared. */
export interface PlacementNode {
  readonly name: string;
  /** Failure domain; a node without one counts as its own domain. */
  readonly zone?: string | undefined;
  readonly memory?: { readonly totalBytes: number; readonly freeBytes: number } | undefined;
  /** `used`: cores of the guests that run there. They may exceed the total. */
  readonly cores?: { readonly total: number; readonly used: number } | undefined;
}

export interface PlacementRules {
  /** Fewest members of the group first: by zone, then by node. */
  readonly spread: boolean;
  readonly by: 'memory' | 'cores';
  readonly maxPerNode?: number | undefined;
  /** Memory of each node that stays free: a share from 0 to 1, or bytes. */
  readonly keepFree?: { readonly share: number } | { readonly bytes: number } | undefined;
  /** Groups whose members must not be on the same node. It applies in both directions. */
  readonly apartFrom: readonly string[];
}

export const DEFAULT_RULES: PlacementRules = { spread: true, by: 'memory', apartFrom: [] };

export interface PlacementVm {
  readonly address: string;
  readonly group: string;
  /** 0 for a VM that is not started. */
  readonly memoryBytes: number;
  readonly cores: number;
  readonly rules: PlacementRules;
  /** The nodes it may be on, by name: what it takes there, or why it cannot be there. */
  readonly sites: ReadonlyMap<string, Site>;
}

export type Site =
  /** Bytes by storage, with the keys of `rooms`. */
  | { readonly ok: true; readonly storage: ReadonlyMap<string, number> }
  /** Sentences without the name of the node: `It is offline.` */
  | { readonly ok: false; readonly why: readonly string[] };

/** A VM that has its node already. What it takes is part of what the nodes and storages report. */
export interface Resident {
  readonly address: string;
  readonly group: string;
  readonly node: string;
  readonly rules?: PlacementRules | undefined;
}

export interface Estate {
  readonly nodes: readonly PlacementNode[];
  readonly residents: readonly Resident[];
  /** Free bytes of the storages that cannot be overcommitted: `pve1/local`, or `*\/nfs` for a shared one. */
  readonly rooms: ReadonlyMap<string, number>;
}

interface Place {
  readonly node: PlacementNode;
  freeBytes: number | undefined;
  freeCores: number | undefined;
  /** By group: addresses of its members. */
  readonly members: Map<string, Set<string>>;
  /** Groups that must not be placed here, by the address of the VM that excludes them. */
  readonly barred: Map<string, Set<string>>;
  /** By address, the memory that must stay free while this VM is here. */
  readonly kept: Map<string, number>;
}

export class PlacementLedger {
  readonly #places: ReadonlyMap<string, Place>;
  readonly #rooms: Map<string, number>;
  readonly #zoneCounts = new Map<string, number>();

  constructor({ nodes, residents, rooms }: Estate) {
    const inOrder = [...nodes].sort((a, b) => byName(a.name, b.name));
    this.#places = new Map(inOrder.map((node) => [node.name, emptyPlace(node)]));
    this.#rooms = new Map(rooms);
    for (const resident of residents) this.#join(resident, resident.node, resident.rules ?? DEFAULT_RULES);
  }

  /** Nodes that this VM fits on now, the best one first. The order in which the cluster lists them does not matter. */
  fitting(vm: PlacementVm): string[] {
    const names = [...this.#places.keys()].filter((name) => vm.sites.has(name));
    return names.filter((name) => this.fits(vm, name)).sort((a, b) => this.compare(vm, a, b));
  }

  /** Whether `refusals` has none. A search asks this for every VM and node, and needs no sentences. */
  fits(vm: PlacementVm, node: string): boolean {
    const [place, site] = [this.#places.get(node), vm.sites.get(node)];
    if (!place || !site?.ok || lacksMemory(vm, place)) return false;
    for (const [key, bytes] of site.storage) if (bytes > (this.#rooms.get(key) ?? bytes)) return false;
    return !isCrowded(vm, place) && !isInCompany(vm, place);
  }

  /** Why the VM does not fit on the node, in sentences about the node; none where it fits. */
  refusals(vm: PlacementVm, node: string): readonly string[] {
    const [place, site] = [this.#places.get(node), vm.sites.get(node)];
    if (!place || !site) return ['It is not among the nodes of this VM.'];
    if (!site.ok) return site.why;
    return [
      ...memoryRefusal(vm, place),
      ...storageRefusals(site.storage, this.#rooms),
      ...crowdRefusal(vm, place),
      ...companyRefusal(vm, place),
    ];
  }

  /** Negative where `a` is the better node for this VM, which is on neither of them. */
  compare(vm: PlacementVm, a: string, b: string): number {
    const { spread, by } = vm.rules;
    const key = by === 'memory' ? 'freeBytes' : 'freeCores';
    const room = (name: string) => this.#places.get(name)?.[key] ?? Number.NEGATIVE_INFINITY;
    const steps = [
      spread ? this.countInZone(vm.group, a) - this.countInZone(vm.group, b) : 0,
      spread ? this.countOn(vm.group, a) - this.countOn(vm.group, b) : 0,
      room(a) === room(b) ? 0 : room(b) - room(a),
      // If the room is unknown, the node with the fewest VMs of the stack.
      this.#countAll(a) - this.#countAll(b),
    ];
    return steps.find((step) => step !== 0) ?? byName(a, b);
  }

  put(vm: PlacementVm, node: string): void {
    this.#take(vm, node, 1);
    // A VM that is not started takes no memory and keeps none free.
    this.#join(vm, node, vm.memoryBytes > 0 ? vm.rules : { ...vm.rules, keepFree: undefined });
  }

  remove(vm: PlacementVm, node: string): void {
    this.#take(vm, node, -1);
    const place = this.#places.get(node);
    if (!place) return;
    place.members.get(vm.group)?.delete(vm.address);
    for (const group of vm.rules.apartFrom) place.barred.get(group)?.delete(vm.address);
    place.kept.delete(vm.address);
    const zone = zoneKey(vm.group, place.node);
    this.#zoneCounts.set(zone, (this.#zoneCounts.get(zone) ?? 0) - 1);
  }

  countOn(group: string, node: string): number {
    return this.#places.get(node)?.members.get(group)?.size ?? 0;
  }

  countInZone(group: string, node: string): number {
    const place = this.#places.get(node);
    return place ? (this.#zoneCounts.get(zoneKey(group, place.node)) ?? 0) : 0;
  }

  zoneOf(node: string): string | undefined {
    return this.#places.get(node)?.node.zone;
  }

  freeBytes(node: string): number | undefined {
    return this.#places.get(node)?.freeBytes;
  }

  freeCores(node: string): number | undefined {
    return this.#places.get(node)?.freeCores;
  }

  /** Whether a move makes the group more evenly spread: over zones first, then over nodes. */
  isBetterSpread(vm: PlacementVm, from: string, to: string): boolean {
    const zones = this.countInZone(vm.group, from) - this.countInZone(vm.group, to);
    const isSameZone = domainOf(this.#places.get(from)?.node) === domainOf(this.#places.get(to)?.node);
    if (!isSameZone && zones !== 1) return zones > 1;
    return this.countOn(vm.group, from) - this.countOn(vm.group, to) > 1;
  }

  #countAll(node: string): number {
    return [...(this.#places.get(node)?.members.values() ?? [])].reduce((sum, { size }) => sum + size, 0);
  }

  #join({ address, group }: { address: string; group: string }, node: string, rules: PlacementRules): void {
    const place = this.#places.get(node);
    if (!place) return;
    addTo(place.members, group, address);
    for (const other of rules.apartFrom) addTo(place.barred, other, address);
    if (rules.keepFree !== undefined) place.kept.set(address, keptBytes(rules, place.node));
    const zone = zoneKey(group, place.node);
    this.#zoneCounts.set(zone, (this.#zoneCounts.get(zone) ?? 0) + 1);
  }

  #take({ sites, memoryBytes, cores }: PlacementVm, node: string, sign: 1 | -1): void {
    const [place, site] = [this.#places.get(node), sites.get(node)];
    if (place?.freeBytes !== undefined) place.freeBytes -= sign * memoryBytes;
    if (place?.freeCores !== undefined && memoryBytes > 0) place.freeCores -= sign * cores;
    if (!site?.ok) return;
    for (const [key, bytes] of site.storage) {
      const free = this.#rooms.get(key);
      if (free !== undefined) this.#rooms.set(key, free - sign * bytes);
    }
  }
}

function emptyPlace(node: PlacementNode): Place {
  const { memory, cores } = node;
  return {
    node,
    freeBytes: memory?.freeBytes,
    freeCores: cores && cores.total - cores.used,
    members: new Map(),
    barred: new Map(),
    kept: new Map(),
  };
}

/** The reserve that one VM on the node sets also binds the others. */
function memoryRefusal(vm: PlacementVm, place: Place): string[] {
  if (place.freeBytes === undefined || !lacksMemory(vm, place)) return [];
  const { memoryBytes } = vm;
  const [freeBytes, reserve] = [place.freeBytes, reserveOf(vm, place)];
  const besides = reserve === 0 ? '' : `, and keep_free keeps ${printRoom(reserve)}`;
  return [`${printRoom(freeBytes)} of its memory are free; the VM needs ${printRoom(memoryBytes)}${besides}.`];
}

function lacksMemory(vm: PlacementVm, place: Place): boolean {
  const { freeBytes, node } = place;
  if (freeBytes === undefined || !node.memory || vm.memoryBytes === 0) return false;
  return freeBytes - vm.memoryBytes < reserveOf(vm, place);
}

function reserveOf({ rules }: PlacementVm, { node, kept }: Place): number {
  let reserve = Math.max(0, keptBytes(rules, node));
  for (const bytes of kept.values()) reserve = Math.max(reserve, bytes);
  return reserve;
}

function keptBytes({ keepFree }: PlacementRules, { memory }: PlacementNode): number {
  if (keepFree === undefined) return 0;
  return 'bytes' in keepFree ? keepFree.bytes : (memory?.totalBytes ?? 0) * keepFree.share;
}

function storageRefusals(needed: ReadonlyMap<string, number>, rooms: ReadonlyMap<string, number>): string[] {
  return [...needed].flatMap(([key, bytes]) => {
    const free = rooms.get(key);
    if (free === undefined || bytes <= free) return [];
    const storage = key.slice(key.indexOf('/') + 1);
    return [`"${storage}" has ${printRoom(Math.max(free, 0))} left; the VM needs ${printRoom(bytes)}.`];
  });
}

function crowdRefusal(vm: PlacementVm, place: Place): string[] {
  if (!isCrowded(vm, place)) return [];
  return [`It has ${othersOf(vm, place)} of this group, and max_per_node is ${vm.rules.maxPerNode}.`];
}

function isCrowded(vm: PlacementVm, place: Place): boolean {
  const { maxPerNode } = vm.rules;
  return maxPerNode !== undefined && othersOf(vm, place) >= maxPerNode;
}

function othersOf({ group, address }: PlacementVm, { members }: Place): number {
  const here = members.get(group);
  return here ? here.size - (here.has(address) ? 1 : 0) : 0;
}

/** Applies whether this group or the other one sets it. */
function isInCompany({ group, rules }: PlacementVm, { members, barred }: Place): boolean {
  const isThere = (set: ReadonlySet<string> | undefined) => set !== undefined && set.size > 0;
  return isThere(barred.get(group)) || rules.apartFrom.some((other) => isThere(members.get(other)));
}

function companyRefusal({ group, rules }: PlacementVm, { members, barred }: Place): string[] {
  const avoided = rules.apartFrom.flatMap((other) => [...(members.get(other) ?? [])]);
  const avoiding = [...(barred.get(group) ?? [])];
  const [first, ...others] = [...new Set([...avoided, ...avoiding])].sort(byName);
  if (first === undefined) return [];
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return [`It has ${first}${more}, which apart_from keeps apart.`];
}

const domainOf = (node: PlacementNode | undefined) =>
  node?.zone === undefined ? `node ${node?.name}` : `zone ${node.zone}`;
const zoneKey = (group: string, node: PlacementNode) => `${group}/${domainOf(node)}`;

function addTo(map: Map<string, Set<string>>, key: string, value: string): void {
  const known = map.get(key) ?? new Set();
  known.add(value);
  map.set(key, known);
}

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

/** Rounded for people: `41GiB`, `7.5GiB`, `512MiB`. */
export function printRoom(bytes: number): string {
  if (Math.abs(bytes) < GIB) return `${Math.floor(bytes / MIB)}MiB`;
  const gib = bytes / GIB;
  return `${gib < 10 ? Math.floor(gib * 10) / 10 : Math.floor(gib)}GiB`;
}

/** `pve2` before `pve10`, the same on every machine. */
export function byName(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split(/(\d+)/));
  for (let index = 0; index < Math.max(left?.length ?? 0, right?.length ?? 0); index++) {
    const [x = '', y = ''] = [left?.[index], right?.[index]];
    if (x === y) continue;
    const difference = /^\d/.test(x) && /^\d/.test(y) ? Number(x) - Number(y) : 0;
    return difference !== 0 ? difference : x < y ? -1 : 1;
  }
  return 0;
}
