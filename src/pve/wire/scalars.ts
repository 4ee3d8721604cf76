/**
 * Booleans, numbers, lists and disk sizes as Proxmox writes and reads them. Mirrors parse_boolean, parse_size and
 * format_size of pve-common, src/PVE/JSONSchema.pm, and split_list of src/PVE/Tools.pm.
 */
import { invariant } from '../../base/errors.ts';

export type WireBoolean = '0' | '1';

/** The only two spellings that the server accepts as a request parameter. */
export function toWireBoolean(value: boolean): WireBoolean {
  return value ? '1' : '0';
}

/**
 * `undefined` if the server does not know the spelling. Inside property strings it also accepts words, in any case;
 * responses contain numbers, digits as text, or JSON booleans.
 */
export function fromWireBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  const text = String(value).toLowerCase();
  if (/^(1|on|yes|true)$/.test(text)) return true;
  if (/^(0|off|no|false)$/.test(text)) return false;
  return undefined;
}

/** The shortest spelling without an exponent: `0.5`, `32`, `0.00000095367431640625`. */
export function printDecimal(value: number): string {
  invariant(Number.isFinite(value), `${value} cannot be sent: it is not a finite number.`);
  if (Number.isInteger(value)) return BigInt(value).toString();
  const [mantissa = '', exponent] = Math.abs(value).toString().split('e-');
  const magnitude =
    exponent === undefined ? mantissa : `0.${'0'.repeat(Number(exponent) - 1)}${mantissa.replace('.', '')}`;
  return value < 0 ? `-${magnitude}` : magnitude;
}

/** One spelling per number, without rounding: `1.50` and `01.5` become `1.5`. Other text is returned unchanged. */
export function canonicalDecimal(text: string): string {
  const match = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(text.trim());
  if (!match) return text;
  const whole = (match[2] ?? '').replace(/^0+(?=\d)/, '');
  const fraction = (match[3] ?? '').replace(/0+$/, '');
  const magnitude = fraction === '' ? whole : `${whole}.${fraction}`;
  return match[1] === '-' && magnitude !== '0' ? `-${magnitude}` : magnitude;
}

/** The server splits lists at commas, semicolons and white space. */
export function splitList(text: string): string[] {
  const separator = text.includes('\0') ? /\0/ : /[,;\s]+/;
  return text.split(separator).filter((item) => item !== '');
}

/** Order by code units, as Perl's `sort` does; `localeCompare` would depend on the machine. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export const KIB = 1024;
export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;
export const TIB = 1024 ** 4;

const UNIT_BYTES: Readonly<Record<string, number>> = { K: KIB, M: MIB, G: GIB, T: TIB };

/**
 * Bytes of `32G`, `1.5G`, `528K`, or of a number without a unit. Units are binary and case-sensitive. `undefined` for text
 * that the server would reject (`32GB`, `32g`, `-1G`), and for sizes beyond exact numbers.
 */
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

/** Negative, zero or positive, like `a - b`; `undefined` if either is not a size. */
export function compareSizes(a: string, b: string): number | undefined {
  const aBytes = parseSize(a);
  const bBytes = parseSize(b);
  return aBytes === undefined || bBytes === undefined ? undefined : aBytes - bBytes;
}

/** The size that the server allocates for `storage:SIZE`: GiB in KiB, rounded up (`local:0.1` becomes `104858K`). */
export function allocationSizeBytes(sizeGiB: number): number {
  return Math.ceil(sizeGiB * MIB) * KIB;
}

/** The number to write after `storage:` for a new volume of this size: GiB without a unit. */
export function printAllocation(sizeBytes: number): string {
  return printDecimal(sizeBytes / GIB);
}
