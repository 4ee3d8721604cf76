/** IDs and addresses of the members of a group, written as ranges where they follow each other. Pure. */
import { parseInterface, parseIp, printIp } from '../../../base/values/ip-address.ts';

/** `101-103`, 7, or a list of both, in the order of the members. */
export function idRanges(ids: readonly number[]): number | string | (number | string)[] {
  const parts = runs(ids.map(BigInt)).map(([first, last]) => (first === last ? Number(first) : `${first}-${last}`));
  const [only] = parts;
  return parts.length === 1 && only !== undefined ? only : parts;
}

/** `10.0.0.11-10.0.0.13/24`, or a list. Undefined where one of them is no address with a prefix length. */
export function addressRanges(addresses: readonly unknown[]): string | string[] | undefined {
  const parsed = addresses.map((address) => (typeof address === 'string' ? parseInterface(address) : undefined));
  const [first] = parsed;
  if (!first) return undefined;
  const values: bigint[] = [];
  for (const each of parsed) {
    if (!each || each.length !== first.length || each.address.version !== first.address.version) return undefined;
    values.push(each.address.value);
  }
  const print = (value: bigint) => printIp({ version: first.address.version, value });
  const parts = runs(values).map(([from, to]) =>
    from === to ? `${print(from)}/${first.length}` : `${print(from)}-${print(to)}/${first.length}`,
  );
  const [only] = parts;
  return parts.length === 1 && only !== undefined && only.includes('-') ? only : parts;
}

/** The IDs of a `vmids` that is written out; undefined for anything else, such as a reference to a variable. */
export function idsIn(written: unknown): number[] | undefined {
  const parts = Array.isArray(written) ? written : [written];
  const ids: number[] = [];
  for (const part of parts) {
    const [, from, to = from] = /^\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?$/.exec(String(part)) ?? [];
    if (from === undefined || Number(to) - Number(from) > MOST) return undefined;
    for (let id = Number(from); id <= Number(to); id++) ids.push(id);
  }
  return ids;
}

/** The addresses of an `addresses` that is written out. */
export function addressesIn(written: unknown): string[] | undefined {
  const parts = Array.isArray(written) ? written : [written];
  const found: string[] = [];
  for (const part of parts) {
    const [, from = '', to = from, length = ''] = /^([^-/\s]+)(?:-([^-/\s]+))?\/(\d+)$/.exec(String(part)) ?? [];
    const [first, last] = [parseIp(from), parseIp(to)];
    if (!first || !last || last.value - first.value > BigInt(MOST)) return undefined;
    for (let { value } = first; value <= last.value; value++) found.push(`${printIp({ ...first, value })}/${length}`);
  }
  return found;
}

const MOST = 10_000;

/** Runs of values that each are one more than the one before. */
function runs(values: readonly bigint[]): (readonly [bigint, bigint])[] {
  const found: [bigint, bigint][] = [];
  for (const value of values) {
    const run = found.at(-1);
    if (run && value === run[1] + 1n) run[1] = value;
    else found.push([value, value]);
  }
  return found;
}
