/**
 * A seed: the volume with custom cloud-init files, and what is in them. Its name is derived from its contents, so
 * changed contents are another file. Any user who may list the storage sees the name, so it must not help to guess the
 * contents.
 */

import { createHash } from 'node:crypto';
import { stringify } from 'yaml';
import { invariant } from '../../../base/errors.ts';
import type { Secret } from '../../../base/secret.ts';
import { slowDigest } from '../../fingerprint.ts';
import type { OwnDocument, SeedFields } from './fields.ts';
import { writeIso } from './iso9660.ts';
import { passwordHash } from './password-hash.ts';

interface Seed {
  /** Of the files and the VM they are for. */
  readonly digest: string;
  readonly fileName: string;
  readonly documents: SeedDocuments;
}

/** The label by which cloud-init and Talos find the volume. */
const LABEL = 'cidata';
/** Any fixed instant works; guests ignore it. */
const AT = new Date('2000-01-01T00:00:00Z');
const NAME_DIGITS = 16;

/** `volumes` are those that the VM has or had: a file of the same contents under its former name stays in use. */
export function seedOf(source: SeedSource, volumes: Iterable<string | undefined> = []): Seed {
  const documents = seedDocuments(source);
  const digest = digestOf([source.uuid, secretsDigest(source)], documents);
  // Files of earlier versions have a quick digest in their name.
  const former = fileNameOf(source, digestOf([source.uuid], documents));
  const isKept = [...volumes].some((volid) => volid?.endsWith(`:iso/${former}`));
  return { digest, fileName: isKept ? former : fileNameOf(source, digest), documents };
}

function fileNameOf({ fields }: SeedSource, digest: string): string {
  const name = fields.name.replace(/[^A-Za-z0-9.-]/g, '-');
  return `proxwright-${name}-${digest.slice(0, NAME_DIGITS)}.iso`;
}

/** Of the secret parts. No key of the state goes into it, so a recovered state still recognises the file. */
function secretsDigest({ secrets }: SeedSource): string {
  const parts = Object.entries(secrets)
    .map(([name, secret]) => [name, secret?.reveal()])
    .sort(([left = ''], [right = '']) => (left < right ? -1 : 1));
  return slowDigest('proxwright seed', JSON.stringify(parts), 32).toString('hex');
}

export function seedBytes(documents: SeedDocuments): Uint8Array {
  const files = Object.entries(documents).map(([name, text]) => ({ name, bytes: new TextEncoder().encode(text) }));
  return writeIso({ label: LABEL, files, at: AT });
}

export interface SeedSource {
  readonly fields: SeedFields;
  /** NIC slot → MAC address. */
  readonly macs: Readonly<Record<string, string>>;
  /** The VM's uuid, so that two VMs with the same settings have different seeds. */
  readonly uuid: string;
  readonly secrets: Readonly<Partial<Record<OwnDocument | 'password', Secret>>>;
}

type DocumentName = 'meta-data' | 'user-data' | 'vendor-data' | 'network-config';

/** Contents are secret, because custom files may hold anything. */
type SeedDocuments = Readonly<Partial<Record<DocumentName, string>>>;

const INSTANCE_ID_DIGITS = 40;

export function seedDocuments(source: SeedSource): SeedDocuments {
  const { fields, macs, secrets } = source;
  const network = secrets.network_data?.reveal() ?? yaml(networkConfig(fields, macs));
  const others = {
    ...usersOf(source),
    ...(network !== undefined && { 'network-config': network }),
  };
  return { 'meta-data': secrets.meta_data?.reveal() ?? metaData(source, others), ...others };
}

function usersOf({ fields, uuid, secrets }: SeedSource): SeedDocuments & { readonly 'user-data': string } {
  const own = secrets.user_data?.reveal();
  // Talos has no accounts; this first line tells it that there is no machine configuration.
  if (fields.guest === 'talos') return { 'user-data': own ?? '#cloud-config\n' };
  const password = secrets.password && passwordHash(secrets.password.reveal(), uuid);
  if (own !== undefined) return { 'user-data': own, 'vendor-data': cloudConfig(fields, password, fields.upgrade) };
  return { 'user-data': cloudConfig(fields, password, fields.upgrade ?? true) };
}

/** The host name is in the meta-data, so that custom meta-data can change it. */
function cloudConfig(
  { user, sshKeys }: SeedFields,
  password: string | undefined,
  upgrade: boolean | undefined,
): string {
  const config = {
    manage_etc_hosts: true,
    ...(user !== undefined && { user }),
    ...(user === 'root' ? { disable_root: false } : { users: ['default'] }),
    ...(password !== undefined && { password }),
    ...(sshKeys && { ssh_authorized_keys: sshKeys.map((key) => key.trim()) }),
    chpasswd: { expire: false },
    ...(upgrade !== undefined && { package_upgrade: upgrade }),
  };
  return `#cloud-config\n${yaml(config)}`;
}

/**
 * The instance id is derived from the other files: a change makes it a new instance, for which cloud-init repeats its
 * once-per-instance work at the next boot. Proxmox's own drive does the same.
 */
function metaData({ fields: { name, dns, guest }, uuid }: SeedSource, others: SeedDocuments): string {
  const hostname = name.includes('.') || dns?.domain === undefined ? name : `${name}.${dns.domain}`;
  return yaml({
    'instance-id': digestOf([uuid, hostname], others).slice(0, INSTANCE_ID_DIGITS),
    'local-hostname': hostname,
    // Talos before 1.8 knows only this name.
    ...(guest === 'talos' && { hostname }),
  });
}

/** Over names, lengths and contents, so that text moved from one file to the next changes the digest. */
function digestOf(about: readonly string[], documents: SeedDocuments): string {
  const hash = createHash('sha256');
  const parts = Object.entries(documents).sort(([left], [right]) => (left < right ? -1 : 1));
  for (const part of [...about, ...parts.flat()]) hash.update(`${Buffer.byteLength(part)}:`).update(part);
  return hash.digest('hex');
}

/** All texts in quotes: older YAML parsers read some MAC addresses as numbers and some words as booleans. */
function yaml(value: object): string;
function yaml(value: object | undefined): string | undefined;
function yaml(value: object | undefined): string | undefined {
  return value && stringify(value, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN', lineWidth: 0 });
}

interface Subnet {
  readonly type: 'dhcp4' | 'dhcp6' | 'static' | 'static6' | 'ipv6_dhcpv6-stateful' | 'ipv6_slaac';
  readonly address?: string;
  readonly gateway?: string;
}

type Nic = SeedFields['nics'][string];
type Macs = Readonly<Record<string, string>>;

/** Undefined if the guest's default, DHCP on its first NIC, is what is desired. */
function networkConfig({ guest, nics, dns }: SeedFields, macs: Macs): object | undefined {
  const slots = Object.keys(nics).sort((left, right) => numberOf(left) - numberOf(right));
  const given = slots.filter((slot) => nics[slot]?.ipv4 !== undefined || nics[slot]?.ipv6 !== undefined);
  const hasDns = (dns?.servers ?? []).length > 0 || dns?.domain !== undefined;
  // Talos requires the file, and without NICs in it still uses DHCP on all of them.
  if (guest !== 'talos' && given.length === 0 && !hasDns) return undefined;
  // Two names for the same type: some renderers of cloud-init accept only one, and Talos only the other.
  const dhcp6 = guest === 'talos' ? 'ipv6_dhcpv6-stateful' : 'dhcp6';
  const card = (slot: string, nic: Nic) => cardOf(slot, nic, macs, dhcp6);
  // A file without NICs would leave the guest without a network.
  const fallback = guest !== 'talos' && given.length === 0 ? slots.slice(0, 1) : [];
  return {
    version: 1,
    config: [
      ...given.map((slot) => card(slot, nics[slot] ?? {})),
      ...fallback.map((slot) => card(slot, { ipv4: 'dhcp' })),
      ...(hasDns ? [nameServers(dns)] : []),
    ],
  };
}

function cardOf(slot: string, { ipv4, ipv6 }: Nic, macs: Macs, dhcp6: Subnet['type']): object {
  const mac = macs[slot];
  invariant(mac !== undefined, `${slot} has no MAC address yet, and a seed identifies NICs by their MAC address.`);
  return {
    type: 'physical',
    name: `eth${numberOf(slot)}`,
    mac_address: mac.toLowerCase(),
    subnets: [...(ipv4 === undefined ? [] : [subnet4(ipv4)]), ...(ipv6 === undefined ? [] : [subnet6(ipv6, dhcp6)])],
  };
}

function subnet4(ipv4: NonNullable<Nic['ipv4']>): Subnet {
  return ipv4 === 'dhcp' ? { type: 'dhcp4' } : { type: 'static', ...place(ipv4) };
}

function subnet6(ipv6: NonNullable<Nic['ipv6']>, dhcp6: Subnet['type']): Subnet {
  if (ipv6 === 'auto') return { type: 'ipv6_slaac' };
  return ipv6 === 'dhcp' ? { type: dhcp6 } : { type: 'static6', ...place(ipv6) };
}

function place({ address, gateway }: { readonly address: string; readonly gateway?: string | undefined }) {
  return { address, ...(gateway !== undefined && { gateway }) };
}

function nameServers(dns: SeedFields['dns']): object {
  const { servers = [], domain } = dns ?? {};
  return {
    type: 'nameserver',
    address: servers,
    ...(domain !== undefined && { search: [domain] }),
  };
}

function numberOf(slot: string): number {
  return Number(slot.replace(/^net/, ''));
}
