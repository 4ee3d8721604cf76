/** Values that Proxmox checks or completes on its own: memory, SSH keys, CPU shares, passwords. */
import { createHash } from 'node:crypto';
import { type Random, randomInteger } from '../../base/random.ts';
import { formatOfKey, parseProperty, percentDecode } from '../../pve/wire/index.ts';
import { dieFault } from '../http/response.ts';

const WINDOWS = /^(wxp|w2k|w2k3|w2k8|wvista|win\d+)$/;

export function isWindows(ostype: string | undefined): boolean {
  return ostype !== undefined && WINDOWS.test(ostype);
}

/** MiB of RAM a configuration gives. Rule [source QS QemuServer/Memory.pm get_current_memory]: 512 by default. */
export function memoryMiB(value: string | undefined): number {
  const format = formatOfKey('memory');
  const parsed = format && value !== undefined ? parseProperty(format, value) : undefined;
  return parsed?.ok ? Number(parsed.value.get('current') ?? 512) : 512;
}

/** Rule [source PC CGroup.pm clamp_cpu_shares]: with cgroup v2 a weight is between 1 and 10000. */
export function clampCpuUnits(value: string): string {
  return String(Math.min(10_000, Math.max(1, Number(value))));
}

/**
 * Rule [recorded cloudinit-keys]: the server runs ssh-keygen over each line of the decoded keys and refuses what it cannot
 * read. Rule [source PC Tools.pm validate_ssh_public_keys]: blank lines are passed over, so nothing at all is fine.
 */
export function assertSshKeys(encoded: string): void {
  const lines = percentDecode(encoded).split('\n');
  if (!lines.every((line) => /^\s*$/.test(line) || isPublicKey(line)))
    throw dieFault('SSH public key validation error');
}

const SALT_LETTERS = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/**
 * Rule [source PC Tools.pm encrypt_pw]: a salted SHA-256 crypt text, so the same password never looks the same twice.
 * Rule [assumed]: only its form is genuine; no simulated guest checks a password against it.
 */
export function hashedPassword(random: Random, password: string): string {
  const letters = (bytes: Iterable<number>) => [...bytes].map((byte) => SALT_LETTERS[byte % 64]).join('');
  const salt = letters(Array.from({ length: 8 }, () => randomInteger(random, 0, 63)));
  const digest = createHash('sha512').update(`${salt}${password}`).digest();
  return `$5$${salt}$${letters(digest.subarray(0, 43))}`;
}

/** Rule [observed 9.2.11]: ssh-keygen reads the whole key, so a truncated one is none. */
function isPublicKey(line: string): boolean {
  const match = /(?:^|\s)((?:ssh|ecdsa|sk)-[a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?:\s|$)/.exec(line);
  if (!match) return false;
  const fields = wireFields(Buffer.from(match[2] ?? '', 'base64'));
  if (fields === undefined || fields[0]?.toString('latin1') !== match[1]) return false;
  return fields.length > 1 && (match[1] !== 'ssh-ed25519' || fields[1]?.length === ED25519_BYTES);
}

const ED25519_BYTES = 32;

/** The length-prefixed fields of a key; nothing if they do not fill it exactly. */
function wireFields(blob: Buffer): Buffer[] | undefined {
  const fields: Buffer[] = [];
  let offset = 0;
  while (offset < blob.length) {
    if (offset + 4 > blob.length) return undefined;
    const end = offset + 4 + blob.readUInt32BE(offset);
    if (end > blob.length) return undefined;
    fields.push(blob.subarray(offset + 4, end));
    offset = end;
  }
  return fields;
}
