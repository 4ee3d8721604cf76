/**
 * Disk sizes: `32G`, `1.5G`, `528K`, or bytes without a unit. Units are binary and case-sensitive.
 * Mirrors parse_size and format_size of pve-common, src/PVE/JSONSchema.pm.
 */
import { invariant } from '../../base/assert.ts';
import { printDecimal } from './decimal.ts';

export const KIB = 1024;
export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;
export const TIB = 1024 ** 4;

const UNIT_BYTES: Readonly<Record<string, number>> = { K: KIB, M: MIB, G: GIB, T: TIB };

/** Bytes, or `undefined` for a text the server would refuse (`32GB`, `32g`, `-1G`) or that exceeds exact numbers. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(?:([KMGT])(?:iB)?)?$/.exec(text);
  if (!match) return undefined;
  const sizeBytes = Math.floor(Number(match[1]) * (UNIT_BYTES[match[2] ?? ''] ?? 1));
  return Number.isSafeInteger(sizeBytes) ? sizeBytes : undefined;
}

/** The largest unit that divides the size exactly: `1536M`, not `1.5G`. Zero is `0T`, as the server prints it. */
export function printSize(sizeBytes: number): string {
  invariant(Number.isSafeInteger(sizeBytes) && sizeBytes >= 0, `${sizeBytes} is not a size in bytes.`);
  let value = sizeBytes;
  let unit = '';
  for (const next of ['K', 'M', 'G', 'T']) {
    if (value % 1024 !== 0) break;
    value /= 1024;
    unit = next;
  }
  return `${value}${unit}`;
}

/** Negative, zero or positive, like `a - b`; `undefined` when one of them is not a size. */
export function compareSizes(a: string, b: string): number | undefined {
  const aBytes = parseSize(a);
  const bBytes = parseSize(b);
  return aBytes === undefined || bBytes === undefined ? undefined : aBytes - bBytes;
}

/** What the server allocates for `storage:SIZE`: GiB turned into KiB, rounded up (`local:0.1` becomes `104858K`). */
export function allocationSizeBytes(sizeGiB: number): number {
  return Math.ceil(sizeGiB * MIB) * KIB;
}

/** The number to write after `storage:` for a new volume of this size: GiB without a unit. */
export function printAllocation(sizeBytes: number): string {
  return printDecimal(sizeBytes / GIB);
}
