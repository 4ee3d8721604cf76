/** Values that Proxmox checks or completes on its own: machine type pinning, memory, SSH keys, CPU shares. */
import { formatOfKey, parseProperty } from '../../pve/wire/index.ts';
import { dieFault } from '../http/response.ts';
import type { World } from '../world/world.ts';

const WINDOWS = /^(wxp|w2k|w2k3|w2k8|wvista|win7|win8|win10|win11)$/;

export function isWindows(ostype: string | undefined): boolean {
  return ostype !== undefined && WINDOWS.test(ostype);
}

/**
 * Rule [recorded run-refusals]: switching to a Windows guest pins the machine version, as creation does; nothing is
 * pinned where a version is already given.
 */
export function pinnedMachine(
  world: World,
  machine: string | undefined,
  ostype: string | undefined,
): string | undefined {
  if (!isWindows(ostype)) return undefined;
  const [type = 'pc', ...rest] = (machine ?? 'pc').split(',');
  const bare = type.replace(/^type=/, '');
  const version = world.version.qemu.split('.').slice(0, 2).join('.');
  const pinned = bare === 'pc' ? `pc-i440fx-${version}+pve1` : bare === 'q35' ? `pc-q35-${version}+pve1` : undefined;
  return pinned && [pinned, ...rest].join(',');
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

/** Rule [recorded cloudinit-keys]: the server runs ssh-keygen over the decoded keys and refuses what it cannot read. */
export function assertSshKeys(decoded: string): void {
  const lines = decoded.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#'));
  if (lines.length === 0 || !lines.every(isPublicKey)) throw dieFault('SSH public key validation error');
}

function isPublicKey(line: string): boolean {
  const match = /(?:^|\s)((?:ssh|ecdsa|sk)-[a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?:\s|$)/.exec(line);
  if (!match) return false;
  const blob = Buffer.from(match[2] ?? '', 'base64');
  if (blob.length < 8) return false;
  const nameLength = blob.readUInt32BE(0);
  return blob.subarray(4, 4 + nameLength).toString('latin1') === match[1] && blob.length > 4 + nameLength + 4;
}
