/**
 * Formats of addresses, names and network devices. [source PC JSONSchema.pm, ParseUtils.pm, Tools.pm
 * parse_host_and_port; CL PVE/DataCenterConfig.pm; QS QemuServer/Network.pm]
 */
import { withoutFinalNewline } from '../perl-text.ts';
import type { PropertyFormat } from '../types.ts';
import { matching, type Verifier } from './format.ts';

const OCTET = '(?:25[0-5]|(?:2[0-4]|1[0-9]|[1-9])?[0-9])';
const IPV4 = new RegExp(`^(?:${OCTET}\\.){3}${OCTET}$`);
const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const DNS_NAME = new RegExp(`^(?:${LABEL}\\.)*${LABEL}$`);
const EMAIL_USER = '[\\p{L}\\p{M}\\p{N}\\p{Pc}+~-]+(?:\\.[\\p{L}\\p{M}\\p{N}\\p{Pc}+~-]+)*';
const EMAIL = new RegExp(`^${EMAIL_USER}@[a-zA-Z0-9-]+(?:\\.[a-zA-Z0-9-]+)*$`, 'u');
const HOST = '[\\p{L}\\p{M}\\p{Nd}.-]+';
const HOST_AND_PORT = new RegExp(`^${HOST}(?::\\d+)?$`, 'u');
const BRACKETED_AND_PORT = /^\[(.+)\](?::\d+)?$/u;
const HOST_ALONE = new RegExp(`^${HOST}$`, 'u');
const ACME_LABEL = '[a-z0-9][a-z0-9_-]*';
const ACME_ALIAS_LABEL = '[a-z0-9_][a-z0-9_-]*';

export function isIpv4(text: string): boolean {
  return IPV4.test(withoutFinalNewline(text));
}

/** Eight groups of hex digits, one run of zeros shortened to `::`, the last two perhaps written as IPv4. */
export function isIpv6(text: string): boolean {
  const halves = withoutFinalNewline(text).split('::');
  if (halves.length > 2) return false;
  const groups = halves.map((half, index) => countGroups(half, index === halves.length - 1));
  if (groups.includes(undefined)) return false;
  const total = groups.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  return halves.length === 1 ? total === 8 : total <= 7;
}

function countGroups(half: string, mayEndInIpv4: boolean): number | undefined {
  if (half === '') return 0;
  const parts = half.split(':');
  const last = parts.at(-1) ?? '';
  const endsInIpv4 = mayEndInIpv4 && IPV4.test(last);
  const hex = endsInIpv4 ? parts.slice(0, -1) : parts;
  return hex.every((part) => /^[0-9a-fA-F]{1,4}$/.test(part)) ? hex.length + (endsInIpv4 ? 2 : 0) : undefined;
}

export function isDnsName(text: string): boolean {
  return DNS_NAME.test(withoutFinalNewline(text));
}

function isCidr(text: string, isOfFamily: (text: string) => boolean, longestMask: number): boolean {
  const match = /^(.*)\/(\d+)$/.exec(withoutFinalNewline(text));
  return match !== null && isOfFamily(match[1] ?? '') && Number(match[2]) > 7 && Number(match[2]) <= longestMask;
}

const isCidrV4 = (text: string) => isCidr(text, (address) => IPV4.test(address), 32);
const isCidrV6 = (text: string) => isCidr(text, isIpv6, 128);

const NETMASKS = new Set(
  Array.from({ length: 33 }, (_, bits) =>
    [0, 8, 16, 24].map((before) => 256 - 2 ** (8 - Math.min(8, Math.max(0, bits - before)))).join('.'),
  ),
);

function verifyVlanRange(text: string): string | undefined {
  const match = /^(\d+)(?:-(\d+))?$/.exec(withoutFinalNewline(text));
  if (!match) return `invalid VLAN configuration '${text}'\n`;
  const start = match[1] ?? '';
  const end = match[2] === '0' ? undefined : match[2]; // an end of 0 counts as none
  const wrong = [start, end ?? start].find((tag) => Number(tag) < 2 || Number(tag) > 4094);
  if (wrong !== undefined) return `invalid VLAN tag '${wrong}'\n`;
  if (end !== undefined && Number(start) >= Number(end)) {
    return `VLAN range must go from lower to higher tag '${text}'\n`;
  }
  return undefined;
}

/** `host`, `host:port`, `[address]:port`, or IPv6 with the port after a dot. */
function isHostAndPort(text: string): boolean {
  const subject = withoutFinalNewline(text);
  if (HOST_AND_PORT.test(subject)) return true;
  const inner = BRACKETED_AND_PORT.exec(subject)?.[1];
  if (inner !== undefined) return isIpv6(inner) || HOST_ALONE.test(inner);
  return isIpv6(subject) || isIpv6(subject.replace(/\.\d+$/, ''));
}

/** A lone zero is a name, but false in Perl, and so rejected. */
function isAddress(text: string): boolean {
  return text !== '0' && (isIpv4(text) || isIpv6(text) || isDnsName(text));
}

function satisfying(test: (text: string) => boolean, complaint: string | ((text: string) => string)): Verifier {
  return (text) => (test(text) ? undefined : `${typeof complaint === 'string' ? complaint : complaint(text)}\n`);
}

export const networkFormats: Readonly<Record<string, Verifier>> = {
  ipv4: satisfying(isIpv4, 'value does not look like a valid IPv4 address'),
  ipv6: satisfying(isIpv6, 'value does not look like a valid IPv6 address'),
  ip: satisfying((text) => isIpv4(text) || isIpv6(text), 'value does not look like a valid IP address'),
  ipv4mask: satisfying((text) => NETMASKS.has(text), 'value does not look like a valid IP netmask'),
  CIDRv4: satisfying(isCidrV4, 'value does not look like a valid IPv4 CIDR network'),
  CIDRv6: satisfying(isCidrV6, 'value does not look like a valid IPv6 CIDR network'),
  CIDR: satisfying((text) => isCidrV4(text) || isCidrV6(text), 'value does not look like a valid CIDR network'),
  'pve-ipv4-config': satisfying(
    (text) => /^(?:dhcp|manual)\n?$/.test(text) || isCidrV4(text),
    'value does not look like a valid ipv4 network configuration',
  ),
  'pve-ipv6-config': satisfying(
    (text) => /^(?:auto|dhcp|manual)\n?$/.test(text) || isCidrV6(text),
    'value does not look like a valid ipv6 network configuration',
  ),
  'dns-name': satisfying(isDnsName, 'value does not look like a valid DNS name'),
  address: satisfying(isAddress, (text) => `value does not look like a valid address: ${text}`),
  email: matching(EMAIL, 'value does not look like a valid email address'),
  'mac-addr': matching(
    /^[a-f0-9][02468ace](?::[a-f0-9]{2}){5}$/i,
    'value does not look like a valid unicast MAC address',
  ),
  'mac-prefix': matching(
    /^[a-f0-9][02468ace](?::[a-f0-9]{2}){0,2}(?::[a-f0-9]?)?$/i,
    'value is not a valid unicast MAC address prefix',
  ),
  'pve-iface': matching(/^[a-z][a-z0-9_]{1,20}([:.]\d+)?$/i, (text) => `invalid network interface name '${text}'`),
  'pve-vlan-id-or-range': verifyVlanRange,
  'pve-storage-server': satisfying(isAddress, 'value does not look like a valid server name or IP address'),
  'pve-storage-portal-dns': satisfying(isHostAndPort, 'value does not look like a valid portal address'),
  'pve-acme-domain': matching(
    new RegExp(`^${ACME_LABEL}(?:\\.${ACME_LABEL})+$`, 'i'),
    (text) => `value '${text}' does not look like a valid domain name!`,
  ),
  'pve-acme-alias': matching(
    new RegExp(`^${ACME_ALIAS_LABEL}(?:\\.${ACME_ALIAS_LABEL})+$`, 'i'),
    (text) => `value '${text}' does not look like a valid alias name!`,
  ),
};

export const networkProperties: Readonly<Record<string, PropertyFormat>> = {
  'pve-qm-ipconfig': {
    gw: { type: 'string', format: 'ipv4', optional: true, requires: 'ip' },
    gw6: { type: 'string', format: 'ipv6', optional: true, requires: 'ip6' },
    ip: { type: 'string', format: 'pve-ipv4-config', optional: true, default: 'dhcp' },
    ip6: { type: 'string', format: 'pve-ipv6-config', optional: true, default: 'dhcp' },
  },
  'proxmox-remote': {
    apitoken: { type: 'string' },
    fingerprint: { type: 'string', pattern: '([A-Fa-f0-9]{2}:){31}[A-Fa-f0-9]{2}', optional: true },
    host: { type: 'string' },
    port: { type: 'integer', optional: true },
  },
};
