/** Reads the cluster once: what all kinds share first, then every kind its own part, concurrently. Changes nothing. */
import type { Address } from '../base/address.ts';
import type { GuestRow, NodeRow, Readable, StorageRow } from '../kinds/cluster.ts';
import { MAX_AGE_MS } from '../kinds/cluster.ts';
import type { ObserveContext, Secrets } from '../kinds/kind.ts';
import { NOTHING_OBSERVED, type Observed } from '../kinds/observed.ts';
import type { StackState } from '../kinds/recorded.ts';
import { givenStack, KINDS, renamedState } from '../kinds/registry.ts';
import type { ResolvedStack } from '../kinds/stack.ts';
import type { Pve } from '../pve/client.ts';

export interface ObserveInput {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  readonly state: StackState;
  readonly signal?: AbortSignal | undefined;
  /** Resources to be replaced: what they are made from has to be read as well. */
  readonly replace?: readonly string[] | undefined;
  /** Custom cloud-init files are part of a template's recipe. */
  readonly secrets?: Secrets | undefined;
  /** Whether to read VMs outside the state; by default if the stack gives a VM an address. */
  readonly neighbours?: ObserveContext['neighbours'] | undefined;
  /** Whether the plan chooses IDs that the file leaves open; it does by default. */
  readonly chooseIds?: boolean | undefined;
  /** Whether VMs are to be moved: then the storages and bridges of all nodes, and HA resources, are read. */
  readonly relocates?: boolean | undefined;
  /** Whose snapshots a command is about. */
  readonly snapshots?: ObserveContext['snapshots'];
  /** Guests from a list whose names do not lag. */
  readonly listed?: readonly GuestRow[] | undefined;
}

export async function observe({
  pve,
  stack: declared,
  state,
  signal,
  replace = [],
  secrets = NO_SECRETS,
  neighbours = 'as-needed',
  chooseIds = true,
  relocates = false,
  snapshots,
  listed = [],
}: ObserveInput): Promise<Observed> {
  const stack = givenStack(declared, renamedState(declared, state));
  const version = await pve.authenticate({ signal });
  const rows = await pve.cluster.resources({}, { signal, maxAgeMs: MAX_AGE_MS.guests });
  const guests = completed(guestsIn(rows), listed);
  const nodes = new Map(
    rows.filter((row) => row.type === 'node' && row.node).map((row) => [row.node ?? '', nodeRow(row)]),
  );
  const storages = new Map<string, Promise<Readable<readonly StorageRow[]>>>();
  const context: ObserveContext = {
    pve,
    stack,
    state: renamedState(stack, state),
    signal,
    replace,
    secrets,
    neighbours,
    choosesIds: chooseIds,
    relocates,
    snapshots,
    nodes,
    guests,
    storages: (node: string) => {
      const known = storages.get(node) ?? readStorages(pve, node, signal);
      storages.set(node, known);
      return known;
    },
  };
  const parts = await Promise.all(KINDS.map((kind) => kind.observe(context)));
  return { ...NOTHING_OBSERVED, version, nodes, guests, ...mergedParts(parts) };
}

const NO_SECRETS: Secrets = new Map<Address, never>();

/** Storages are the one part that several kinds read. */
function mergedParts(parts: readonly Partial<Observed>[]): Partial<Observed> & Pick<Observed, 'storages'> {
  const storages = new Map(parts.flatMap((part) => [...(part.storages ?? [])]));
  return { ...Object.assign({}, ...parts), storages };
}

/**
 * The list of the cluster has every guest, but its names and flags lag. The other list may be older, so it adds no
 * guest.
 */
function completed(guests: ReadonlyMap<number, GuestRow>, listed: readonly GuestRow[]): ReadonlyMap<number, GuestRow> {
  const fresher = listed.filter(({ vmid, name }) => guests.has(vmid) && guests.get(vmid)?.name !== name);
  if (fresher.length === 0) return guests;
  return new Map([...guests, ...fresher.map((row) => [row.vmid, { ...guests.get(row.vmid), ...row }] as const)]);
}

function nodeRow({ status, maxcpu, maxmem, mem, hastate }: ResourceRows[number]): NodeRow {
  return {
    online: status === 'online',
    ...(maxcpu !== undefined && { cores: maxcpu }),
    ...(maxmem !== undefined && mem !== undefined && { memory: { totalBytes: maxmem, usedBytes: mem } }),
    ...(hastate === 'maintenance' && { inMaintenance: true }),
  };
}

type ResourceRows = Awaited<ReturnType<Pve['cluster']['resources']>>;

/** The resources of a provider process share one list, and read its rows once. */
const knownGuests = new WeakMap<ResourceRows, ReadonlyMap<number, GuestRow>>();

function guestsIn(rows: ResourceRows): ReadonlyMap<number, GuestRow> {
  const guests = knownGuests.get(rows) ?? guestRows(rows);
  knownGuests.set(rows, guests);
  return guests;
}

function guestRows(rows: ResourceRows): Map<number, GuestRow> {
  const guests = new Map<number, GuestRow>();
  for (const row of rows) {
    if (row.vmid === undefined || row.node === undefined) continue;
    guests.set(row.vmid, {
      vmid: row.vmid,
      node: row.node,
      name: row.name,
      template: row.template ?? false,
      type: row.type,
      running: row.status === 'running',
      ...(row.maxmem !== undefined && { memoryBytes: row.maxmem }),
      ...(row.maxcpu !== undefined && { cores: row.maxcpu }),
      ...(row.pool !== undefined && { pool: row.pool }),
    });
  }
  return guests;
}

async function readStorages(
  pve: Pve,
  node: string,
  signal: AbortSignal | undefined,
): Promise<Readable<readonly StorageRow[]>> {
  const rows = await pve.node(node).storages.list({ format: true }, { signal, maxAgeMs: MAX_AGE_MS.places });
  if (rows.length === 0) return { ok: false, needs: 'Datastore.Audit on the storages' };
  return {
    ok: true,
    value: rows.map((row) => ({
      storage: row.storage,
      type: row.type,
      content: new Set(row.content),
      active: row.active ?? false,
      enabled: row.enabled ?? true,
      shared: row.shared ?? false,
      availableBytes: row.avail,
      formats: row.formats?.supported,
    })),
  };
}
