/**
 * The cloud-init drive: its user-data, network configuration and instance id, word for word, because clients read them back;
 * the image on the storage; and the section of the configuration that holds what the drive does not contain yet.
 */
import { createHash } from 'node:crypto';
import { parseProperty, percentDecode, requiredFormat, splitProperty } from '../../pve/wire/index.ts';
import type { Runtime } from '../core/runtime.ts';
import { dieFault } from '../http/response.ts';
import { allocateVolume } from '../storage/allocate.ts';
import { isFileBased } from '../storage/names.ts';
import { volumePath } from '../storage/paths.ts';
import { activateStorage } from '../storage/space.ts';
import { findVolume, imageFormat, parseVolumeName, splitVolid, storageConfig } from '../storage/volumes.ts';
import type { Vm } from '../world/world.ts';
import { cloudInitDriveKey, draftOf, saveConfig } from './config/config-file.ts';
import { isNetKey } from './config/config-keys.ts';
import type { ConfigDraft } from './config/config-text.ts';
import { CLOUD_INIT_SIZE_BYTES } from './disks/clone-disk.ts';
import { type Drive, drivesOf } from './disks/drive.ts';
import { isWindows, parseNic } from './machine.ts';

type Config = ReadonlyMap<string, string>;

export type DumpType = 'user' | 'network' | 'meta';

export function hasCloudInitDrive(config: Config): boolean {
  return cloudInitDriveKey(config) !== undefined;
}

/** Rule [source QS QemuServer/Cloudinit.pm apply_cloudinit_config]: a fresh image holds everything, so nothing differs. */
export function regenerateCloudInit(vm: Vm): void {
  if (!hasCloudInitDrive(vm.config.current) || !vm.config.cloudInit) return;
  saveConfig(vm, { ...draftOf(vm.config), cloudInit: undefined });
}

/** Rule [source QS QemuServer/Cloudinit.pm dump_cloudinit_config]: `cicustom` is ignored. */
export function dumpCloudInit(config: Config, vmid: number, type: DumpType, maskPassword: boolean): string {
  const isNoCloud = dataSourceOf(config) === 'nocloud';
  const network = () => (isNoCloud ? noCloudNetwork(config) : debianNetwork(config));
  if (type === 'user') return userData(config, vmid, maskPassword);
  if (type === 'network') return network();
  // Rule [recorded cloudinit-keys]: the instance id is a hash of the other two, so a change makes the guest a new
  // instance.
  const instanceId = createHash('sha1')
    .update(`${userData(config, vmid, false)}${network()}`)
    .digest('hex');
  if (isNoCloud) return `instance-id: ${instanceId}\n`;
  return `{\n     "uuid": "${instanceId}",\n     "network_config": { "content_path": "/content/0000" }\n}\n`;
}

/** Rule [source QS QemuServer/Cloudinit.pm get_cloudinit_format]: Windows supports only the config drive. */
function dataSourceOf(config: Config): string {
  return config.get('citype') ?? (isWindows(config.get('ostype')) ? 'configdrive2' : 'nocloud');
}

/** Rule [recorded cloudinit-keys]: the whole text, including a search domain with blanks behind the host name. */
function userData(config: Config, vmid: number, maskPassword: boolean): string {
  const { hostName, fqdn } = hostNames(config, vmid);
  const user = config.get('ciuser');
  const password = config.get('cipassword');
  const keys = config.get('sshkeys');
  const upgrade = config.get('ciupgrade');
  const lines = ['#cloud-config', `hostname: ${hostName}`, 'manage_etc_hosts: true', `fqdn: ${fqdn}`];
  if (user !== undefined) lines.push(`user: ${user}`);
  if (user === 'root') lines.push('disable_root: False');
  if (password !== undefined) lines.push(`password: ${maskPassword ? '**********' : password}`);
  if (keys !== undefined) {
    const present = percentDecode(keys)
      .split('\n')
      .filter((key) => /\S/.test(key));
    lines.push('ssh_authorized_keys:', ...present.map((key) => `  - ${key}`));
  }
  lines.push('chpasswd:', '  expire: False');
  if (user !== 'root') lines.push('users:', '  - default');
  if (upgrade !== '0') lines.push('package_upgrade: true');
  return joined(lines);
}

/** Rule [source QS QemuServer/Cloudinit.pm get_hostname_fqdn]. */
function hostNames(config: Config, vmid: number): { readonly hostName: string; readonly fqdn: string } {
  const name = config.get('name') ?? `VM${vmid}`;
  if (name.includes('.')) return { hostName: name.replace(/\..*$/, ''), fqdn: name };
  const search = config.get('searchdomain');
  return { hostName: name, fqdn: search ? `${name}.${search}` : name };
}

interface Resolver {
  readonly nameServers: readonly string[];
  readonly searchDomains: readonly string[];
}

/**
 * Rule [recorded cloudinit-keys]: split at blanks only, so a list with commas becomes one useless address.
 * Rule [assumed]: by default the resolv.conf of the host counts, and simulated hosts have an empty one.
 */
function resolverOf(config: Config): Resolver {
  const words = (key: string) => (config.get(key) ?? '').split(/\s+/).filter(Boolean);
  return { nameServers: words('nameserver'), searchDomains: words('searchdomain') };
}

interface Interface {
  readonly name: string;
  readonly mac: string;
  readonly addresses: AddressConfig;
}

interface AddressConfig {
  readonly ip?: string | undefined;
  readonly gw?: string | undefined;
  readonly ip6?: string | undefined;
  readonly gw6?: string | undefined;
}

/** Rule [source QS QemuServer/Cloudinit.pm nocloud_network]: cards with an ipconfig, sorted as text. */
function interfacesOf(config: Config): Interface[] {
  const interfaces: Interface[] = [];
  for (const key of [...config.keys()].filter(isNetKey).sort()) {
    const number = key.slice('net'.length);
    const ipConfig = config.get(`ipconfig${number}`);
    if (!ipConfig) continue;
    const mac = parseNic(config.get(key) ?? '')?.get('macaddr');
    if (!mac) throw dieFault(`network interface '${key}' has no mac address`);
    interfaces.push({ name: `eth${number}`, mac: mac.toLowerCase(), addresses: parseIpConfig(ipConfig) });
  }
  return interfaces;
}

const IPCONFIG_FORMAT = requiredFormat('ipconfig0');

/** Rule [recorded cloudinit-keys]: a gateway together with DHCP invalidates the whole setting. */
function parseIpConfig(text: string): AddressConfig {
  const parsed = parseProperty(IPCONFIG_FORMAT, text);
  if (!parsed.ok) return {};
  const [ip, gw, ip6, gw6] = ['ip', 'gw', 'ip6', 'gw6'].map((name) => parsed.value.get(name));
  const isContradictory =
    (gw && (!ip || ip === 'dhcp')) || (gw6 && (!ip6 || ip6 === 'dhcp' || ip6 === 'auto' || ip6 === 'manual'));
  if (isContradictory) return {};
  // Rule [source QS QemuServer/Network.pm parse_ipconfig]: no address at all means DHCP for both families.
  return !ip && !ip6 ? { ip: 'dhcp', ip6: 'dhcp' } : { ip, gw, ip6, gw6 };
}

/** Rule [recorded cloudinit-keys]: version 1 of cloud-init's network format. */
function noCloudNetwork(config: Config): string {
  const lines = ['version: 1', 'config:'];
  for (const { name, mac, addresses } of interfacesOf(config)) {
    lines.push('    - type: physical', `      name: ${name}`, `      mac_address: '${mac}'`, '      subnets:');
    lines.push(...noCloudSubnets(addresses).map((line) => `      ${line}`));
  }
  const { nameServers, searchDomains } = resolverOf(config);
  lines.push('    - type: nameserver');
  if (nameServers.length > 0) lines.push('      address:', ...nameServers.map((server) => `      - '${server}'`));
  if (searchDomains.length > 0) lines.push('      search:', ...searchDomains.map((domain) => `      - '${domain}'`));
  return joined(lines);
}

function noCloudSubnets({ ip, gw, ip6, gw6 }: AddressConfig): string[] {
  const lines: string[] = [];
  if (ip === 'dhcp') {
    lines.push('- type: dhcp4');
  } else if (ip !== undefined) {
    const { address, mask } = splitIp4(ip);
    lines.push('- type: static', `  address: '${address}'`, `  netmask: '${mask}'`);
    if (gw !== undefined) lines.push(`  gateway: '${gw}'`);
  }
  if (ip6 === 'dhcp') {
    lines.push('- type: dhcp6');
  } else if (ip6 === 'auto') {
    lines.push('- type: ipv6_slaac');
  } else if (ip6 !== undefined) {
    lines.push('- type: static6', `  address: '${ip6}'`);
    if (gw6 !== undefined) lines.push(`  gateway: '${gw6}'`);
  }
  return lines;
}

/** Rule [source QS QemuServer/Cloudinit.pm configdrive2_network]: config drives carry an interfaces(5) file. */
function debianNetwork(config: Config): string {
  const { nameServers, searchDomains } = resolverOf(config);
  const lines = ['auto lo', 'iface lo inet loopback', ''];
  if (nameServers.length > 0) lines.push(`        dns_nameservers ${nameServers.join(' ')}`);
  if (searchDomains.length > 0) lines.push(`        dns_search ${searchDomains.join(' ')}`);
  for (const { name, addresses } of interfacesOf(config)) {
    const { ip, gw, ip6, gw6 } = addresses;
    lines.push(`auto ${name}`);
    if (ip === 'dhcp') {
      lines.push(`iface ${name} inet dhcp`);
    } else if (ip) {
      const { address, mask } = splitIp4(ip);
      lines.push(`iface ${name} inet static`, ...debianAddress(address, mask, gw));
    }
    if (ip6 === 'auto' || ip6 === 'dhcp') {
      lines.push(`iface ${name} inet6 ${ip6}`);
    } else if (ip6) {
      const [address = '', prefix = ''] = ip6.split('/');
      lines.push(`iface ${name} inet6 static`, ...debianAddress(address, prefix, gw6));
    }
  }
  return joined(lines);
}

function debianAddress(address: string, mask: string, gateway: string | undefined): string[] {
  const lines = [`        address ${address}`, `        netmask ${mask}`];
  return gateway ? [...lines, `        gateway ${gateway}`] : lines;
}

function splitIp4(cidr: string): { readonly address: string; readonly mask: string } {
  const [address = '', prefix] = cidr.split('/');
  if (prefix === undefined) throw dieFault(`not a CIDR: ${cidr}`);
  const octets = [0, 8, 16, 24].map((start) => 256 - 2 ** (8 - Math.min(8, Math.max(0, Number(prefix) - start))));
  return { address, mask: octets.join('.') };
}

const joined = (lines: readonly string[]) => `${lines.join('\n')}\n`;

/** Rule [recorded cloudinit-keys]: writing the image takes about 80 ms. */
const GENERATE_MS = 80;

interface ImageContext {
  readonly runtime: Runtime;
  readonly node: string;
  readonly vmid: number;
  readonly log: (line: string) => void;
}

/**
 * Rule [source QS QemuServer/Cloudinit.pm apply_cloudinit_config]: the image is made for the given values; afterwards
 * nothing differs between it and the configuration, so the section that remembers differences goes.
 */
export async function applyCloudInit(
  context: ImageContext,
  draft: ConfigDraft,
  config: ReadonlyMap<string, string> = draft.current,
): Promise<void> {
  for (const drive of drivesOf(config)) {
    if (!new RegExp(`:.*vm-${context.vmid}-cloudinit`).test(drive.file)) continue;
    assertSnippetsExist(context, config);
    // The network file is written from the keys: an address without prefix length fails here.
    dumpCloudInit(config, context.vmid, 'network', false);
    await ensureVolume(context, drive);
    context.log('generating cloud-init ISO');
    await context.runtime.clock.sleep(GENERATE_MS);
  }
  if (draft.cloudInit && draft.cloudInit.size > 0) draft.cloudInit = undefined;
}

/** Rule [source QS QemuServer/Cloudinit.pm get_custom_cloudinit_files]: in the order network, user, meta, vendor. */
function assertSnippetsExist({ runtime, node }: ImageContext, config: ReadonlyMap<string, string>): void {
  const files = new Map(splitProperty(config.get('cicustom') ?? '').map((part) => [part.key, part.value]));
  for (const kind of ['network', 'user', 'meta', 'vendor']) {
    const volid = files.get(kind);
    if (volid === undefined) continue;
    const { storage, name } = splitVolid(volid);
    const { content } = parseVolumeName(storageConfig(runtime.world, storage), name);
    if (content !== 'snippets') throw dieFault(`${volid} is not in the snippets directory`);
    activateStorage(runtime.world, storage, node);
    if (!findVolume(runtime.world, node, volid)) throw dieFault(`volume '${volid}' does not exist`);
  }
}

/** Rule [recorded roundtrip-put-back]: putting the same drive back frees its volume first; generating creates it again. */
async function ensureVolume({ runtime, node, vmid, log }: ImageContext, drive: Drive): Promise<void> {
  if (findVolume(runtime.world, node, drive.file)) return;
  const { storage: storageId, name } = splitVolid(drive.file);
  const storage = storageConfig(runtime.world, storageId);
  // Rule [recorded start-missing-volumes]: the check of the image fails first.
  if (isFileBased(storage)) log(`failed to stat '${volumePath(storage, name)}'`);
  const { file, format } = parseVolumeName(storage, name);
  const sizeKiB = CLOUD_INIT_SIZE_BYTES / 1024;
  await allocateVolume(runtime, { node, storageId, vmid, format: imageFormat(format), name: file, sizeKiB, log });
}
