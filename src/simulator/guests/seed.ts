/**
 * The data of a NoCloud volume for a guest: host name and network, from the documents on a disc labelled `cidata`. This
 * is guest behaviour, not Proxmox's: cloud-init and Talos read the same files, and Talos also reads its machine
 * configuration.
 */
import { parseAllDocuments } from 'yaml';
import type { Disc } from '../storage/files/iso9660.ts';

export interface Seed {
  readonly hostName: string | undefined;
  /** Whether there is user-data, which an installer waits for. */
  readonly hasUserData: boolean;
  /** Whether its user-data makes cloud-init install the guest agent. */
  readonly installsAgent: boolean;
  /** Undefined without a network document: then the first card uses DHCP. */
  readonly networks: readonly SeedNetwork[] | undefined;
}

export interface SeedNetwork {
  readonly mac: string | undefined;
  readonly name: string | undefined;
  readonly dhcp4: boolean;
  readonly addresses: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Rule [assumed]: a disc counts with the label in either case and with both documents, however empty. */
export function seedOf(disc: Disc): Seed | undefined {
  if (disc.label !== 'cidata' && disc.label !== 'CIDATA') return undefined;
  const [userData, metaData] = [textOf(disc, 'user-data'), textOf(disc, 'meta-data')];
  if (userData === undefined || metaData === undefined) return undefined;
  const meta = documentsOf(metaData)[0] ?? {};
  const user = documentsOf(userData);
  const network = textOf(disc, 'network-config');
  const declared = network === undefined || network.trim() === '' ? undefined : networksOf(documentsOf(network)[0]);
  const ofMachine = user.flatMap(machineNetworks);
  return {
    hostName: hostNameOf(user, meta)?.split('.')[0],
    hasUserData: userData.trim() !== '',
    installsAgent: isCloudConfig(userData) && user.some(wantsAgent),
    // Rule [assumed]: the Talos machine configuration of a card overrides the network document.
    networks: ofMachine.length > 0 ? [...ofMachine, ...(declared ?? [])] : declared,
  };
}

/** The entry for a card: by its MAC, or by one of the names Linux may give it. */
export function seedNetworkOf(seed: Seed, mac: string, index: number): SeedNetwork | undefined {
  if (seed.networks === undefined) {
    // Rule [assumed]: without a network document cloud-init brings up the first card.
    return index === 0 ? { mac, name: undefined, dhcp4: true, addresses: [] } : undefined;
  }
  // Rule [assumed]: the names of cards on the buses of Proxmox's machines, with and without predictable names.
  const names = new Set([`eth${index}`, `ens${18 + index}`, `enp0s${18 + index}`, `enp6s${18 + index}`]);
  return seed.networks.find((network) =>
    network.mac === undefined ? network.name !== undefined && names.has(network.name) : network.mac === mac,
  );
}

/** Rule [assumed]: cloud-init identifies a document by its first line, and skips one without a known first line. */
function isCloudConfig(text: string): boolean {
  return /^#cloud-config\s*$/m.test(text.split('\n', 1)[0] ?? '');
}

/** An entry of `packages` is a name, or a list of name and version. */
function wantsAgent(document: Fields): boolean {
  const packages = document.packages;
  return Array.isArray(packages) && packages.flat().includes('qemu-guest-agent');
}

function textOf(disc: Disc, name: string): string | undefined {
  const bytes = disc.files.get(name);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
}

/** All documents that are maps; text that is not YAML (a shell script) is ignored. */
function documentsOf(text: string): Fields[] {
  return parseAllDocuments(text, { logLevel: 'silent' }).flatMap((document) => {
    if (document.errors.length > 0) return [];
    return [fieldsOf(document.toJS())];
  });
}

function hostNameOf(user: readonly Fields[], meta: Fields): string | undefined {
  for (const document of user) {
    const machine = fieldsOf(fieldsOf(document.machine).network);
    const name = textField(machine, 'hostname') ?? textField(document, 'hostname') ?? textField(document, 'fqdn');
    if (name !== undefined) return name;
  }
  return textField(meta, 'local-hostname') ?? textField(meta, 'hostname');
}

function networksOf(document: Fields | undefined): SeedNetwork[] {
  const inner = fieldsOf(document?.network);
  const network = Object.keys(inner).length > 0 ? inner : (document ?? {});
  if (Number(network.version) === 1) return listOf(network.config).map(versionOne);
  return Object.entries(fieldsOf(network.ethernets)).map(([name, entry]) => versionTwo(name, fieldsOf(entry)));
}

function versionOne(entry: Fields): SeedNetwork {
  const subnets = listOf(entry.subnets);
  return {
    mac: textField(entry, 'mac_address')?.toLowerCase(),
    name: textField(entry, 'name'),
    dhcp4: subnets.some((subnet) => subnet.type === 'dhcp' || subnet.type === 'dhcp4'),
    addresses: subnets.flatMap((subnet) => {
      const address = textField(subnet, 'address');
      if (address === undefined) return [];
      const prefix = prefixOf(textField(subnet, 'netmask'));
      return [address.includes('/') || prefix === undefined ? address : `${address}/${prefix}`];
    }),
  };
}

function versionTwo(name: string, entry: Fields): SeedNetwork {
  const match = fieldsOf(entry.match);
  return {
    mac: textField(match, 'macaddress')?.toLowerCase(),
    name: textField(match, 'name') ?? name,
    dhcp4: entry.dhcp4 === true || entry.dhcp4 === 'true' || entry.dhcp4 === 'yes',
    addresses: textsOf(entry.addresses),
  };
}

/** `machine.network.interfaces` of a Talos machine configuration. */
function machineNetworks(document: Fields): SeedNetwork[] {
  const network = fieldsOf(fieldsOf(document.machine).network);
  return listOf(network.interfaces).map((entry) => ({
    mac: textField(fieldsOf(entry.deviceSelector), 'hardwareAddr')?.toLowerCase(),
    name: textField(entry, 'interface'),
    dhcp4: entry.dhcp === true,
    addresses: textsOf(entry.addresses),
  }));
}

function prefixOf(netmask: string | undefined): number | undefined {
  if (netmask === undefined) return undefined;
  if (/^\d+$/.test(netmask)) return Number(netmask);
  const bits = netmask.split('.').map((octet) => Number(octet).toString(2).replaceAll('0', '').length);
  return bits.reduce((sum, count) => sum + count, 0);
}

function fieldsOf(value: unknown): Fields {
  // Only read, field by field.
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fieldsOf) : [];
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : [];
}

function textField(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
