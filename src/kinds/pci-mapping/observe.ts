/** Reads PCI mappings and, for devices without one, what is needed to create it. */
import type { PciDevice, Pve } from '../../pve/index.ts';
import { type Readable, readIfAllowed } from '../cluster.ts';
import type { Observed } from '../observed.ts';
import type { ResolvedStack } from '../stack.ts';
import { candidatesOf } from '../vm/placement/candidates.ts';
import type { ResolvedVm } from '../vm/stack.ts';
import { mapsExactly, type PciHardware, pciPath } from './mapping.ts';
import type { PciMaking } from './observed.ts';

interface ObservePciInput {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  readonly nodes: Observed['nodes'];
  readonly signal: AbortSignal | undefined;
  /** Whether VMs are to be moved: each may have a device from its template, or from another client. */
  readonly relocates: boolean;
}

const ALL_MAPPINGS = '/mapping/pci';
/** Bridges cannot be passed through; the server's own choice hides coprocessors as well. */
const HIDDEN_CLASSES = '06';

type ObservedPci = Pick<Observed, 'pciMappings' | 'pciMaking' | 'livePciMappings'>;

export async function observePci(input: ObservePciInput): Promise<ObservedPci> {
  const [used, all] = await Promise.all([observeUsed(input), input.relocates ? readAll(input) : undefined]);
  if (!all) return used;
  const pciMappings = used.pciMappings.ok ? { ok: true as const, value: all.mappings } : used.pciMappings;
  return { ...used, pciMappings, livePciMappings: all.live };
}

/** Every mapping that the token sees: a VM may have a device that the file does not mention. */
async function readAll({ pve, signal }: ObservePciInput) {
  const listed = await pve.cluster.mapping.pci({}, { signal });
  const live = listed.filter((mapping) => mapping['live-migration-capable']);
  return { mappings: new Map(listed.map(({ id, map }) => [id, map])), live: new Set(live.map(({ id }) => id)) };
}

async function observeUsed(input: ObservePciInput): Promise<ObservedPci> {
  const { pve, stack, signal } = input;
  const users = stack.vms.filter(({ fields }) => fields.pci !== undefined);
  if (users.length === 0) return { pciMappings: { ok: true, value: new Map() } };
  const mappings = await readPciMappings(pve, users, signal);
  const nodes = nodesWithUnmapped(users, mappings, input.nodes);
  if (mappings.size > 0 && nodes.size === 0) return { pciMappings: { ok: true, value: mappings } };
  const making = await readMaking(input, nodes);
  // An empty list means "no mappings" only if the token may see all of them.
  const isComplete = mappings.size > 0 || making.privileges.size > 0;
  return {
    pciMappings: isComplete ? { ok: true, value: mappings } : { ok: false, needs: `Mapping.Use on ${ALL_MAPPINGS}` },
    pciMaking: making,
  };
}

/** The mappings that the token sees, by name; nothing is read if no VM uses a device. */
export async function readPciMappings(
  pve: Pve,
  vms: readonly ResolvedVm[],
  signal: AbortSignal | undefined,
): Promise<Map<string, readonly string[]>> {
  if (vms.every(({ fields }) => fields.pci === undefined)) return new Map();
  const listed = await pve.cluster.mapping.pci({}, { signal });
  return new Map(listed.map(({ id, map }) => [id, map]));
}

function nodesWithUnmapped(
  vms: readonly ResolvedVm[],
  mappings: ReadonlyMap<string, readonly string[]>,
  nodes: Observed['nodes'],
): Set<string> {
  const maps = [...mappings.values()];
  const isUnmapped = ({ fields: { pci = {} } }: ResolvedVm, node: string) =>
    Object.values(pci).some(
      ({ device }) => device !== undefined && !maps.some((map) => mapsExactly(map, node, pciPath(device))),
    );
  return new Set(vms.flatMap((vm) => candidatesOf(vm, nodes).filter((node) => isUnmapped(vm, node))));
}

async function readMaking({ pve, nodes, signal }: ObservePciInput, unmapped: ReadonlySet<string>): Promise<PciMaking> {
  const permissions = await pve.access.permissions({ path: ALL_MAPPINGS }, { signal });
  // The value says whether the privilege reaches below the path, where the mappings themselves are.
  const privileges = Object.entries(permissions[ALL_MAPPINGS] ?? {}).flatMap(([name, reaches]) =>
    reaches && name.startsWith('Mapping.') ? [name] : [],
  );
  const online = [...unmapped].filter((node) => nodes.get(node)?.online);
  const devices = await Promise.all(
    online.map(async (node) => [node, await readDevices(pve, node, signal, HIDDEN_CLASSES)] as const),
  );
  return { privileges: new Set(privileges), devices: new Map(devices) };
}

/** All of them, or without the classes that are never passed through. */
export async function readDevices(
  pve: Pve,
  node: string,
  signal: AbortSignal | undefined,
  hidden?: string,
): Promise<Readable<readonly PciHardware[]>> {
  const classes = hidden === undefined ? {} : { 'pci-class-blacklist': hidden };
  return readIfAllowed(
    async () => (await pve.node(node).pciDevices(classes, { signal })).map(hardwareOf),
    'Sys.Audit on /',
  );
}

function hardwareOf(device: PciDevice): PciHardware {
  const { id, vendor, device: model, subsystem_vendor: vendorOfCard, subsystem_device: card, iommugroup } = device;
  const hasSubsystem = vendorOfCard !== undefined && card !== undefined;
  return {
    path: id.toLowerCase(),
    id: idOf(vendor, model),
    subsystemId: hasSubsystem ? idOf(vendorOfCard, card) : undefined,
    iommuGroup: iommugroup === undefined || iommugroup < 0 ? undefined : iommugroup,
    mdev: device.mdev ?? false,
    name: [device.vendor_name, device.device_name].filter(Boolean).join(' '),
  };
}

/** The node writes `0x10de`, a mapping takes `10de`. */
function idOf(vendor: string, device: string): string {
  return [vendor, device].map((part) => part.replace(/^0x/, '')).join(':');
}
