/**
 * A machine without an operating system: its firmware looks for one, gives up and resets, over and over. Devices that were
 * asked to leave do so at such a reset, with nobody's help.
 */
import type { Instant } from '../../base/clock.ts';
import type { QemuProcess } from '../world/world.ts';

/** Rule [recorded run-unplug]: about 4 s a round under software emulation; waiting for an answer from the network adds more. */
const ROUND_MS = 4_000;
const NETWORK_BOOT_MS = 9_000;

const ejections = new WeakMap<QemuProcess, Map<string, Instant>>();

/** When a device that is asked to leave, now or before, will be gone; undefined where it never will. */
export function ejectionAt(process: QemuProcess, device: string, now: Instant): Instant | undefined {
  if (process.guest !== undefined || process.qmpStatus !== 'running') return undefined;
  const asked = ejections.get(process) ?? new Map<string, Instant>();
  ejections.set(process, asked);
  const known = asked.get(device);
  if (known !== undefined) return known;
  const roundMs = ROUND_MS + (bootsFromNetwork(process.launched) ? NETWORK_BOOT_MS : 0);
  const rounds = Math.floor((now - process.guestBootedAt) / roundMs) + 1;
  const at = process.guestBootedAt + rounds * roundMs;
  asked.set(device, at);
  return at;
}

/** It is gone; one of the same name may be plugged in again. */
export function forgetEjection(process: QemuProcess, device: string): void {
  ejections.get(process)?.delete(device);
}

function bootsFromNetwork(config: ReadonlyMap<string, string>): boolean {
  const boot = config.get('boot');
  if (boot?.startsWith('order=')) return /\bnet\d/.test(boot);
  const isLegacyNetwork = boot === undefined || /^(?:legacy=)?[acdn]*n/.test(boot);
  return isLegacyNetwork && [...config.keys()].some((key) => /^net\d+$/.test(key));
}
