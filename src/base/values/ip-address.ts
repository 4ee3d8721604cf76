/** IPv4 and IPv6 addresses as numbers, so that networks and ranges are simple arithmetic. */

export interface IpAddress {
  readonly version: 4 | 6;
  readonly value: bigint;
}

/** An address with its prefix length. */
export interface IpInterface {
  readonly address: IpAddress;
  readonly length: number;
}

const BITS = { 4: 32, 6: 128 } as const;

export function parseIp(text: string): IpAddress | undefined {
  const value = text.includes(':') ? parseSix(text) : parseFour(text);
  return value === undefined ? undefined : { version: text.includes(':') ? 6 : 4, value };
}

export function parseInterface(text: string): IpInterface | undefined {
  const [, host = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const address = parseIp(host);
  const length = Number(digits);
  return address && length <= BITS[address.version] ? { address, length } : undefined;
}

export function printIp({ version, value }: IpAddress): string {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16));
  return shortened(groups);
}

/** The first and last address of the network of an interface. */
export function networkOf({ address, length }: IpInterface): { readonly first: IpAddress; readonly last: IpAddress } {
  const hostBits = BigInt(BITS[address.version] - length);
  const first = (address.value >> hostBits) << hostBits;
  return {
    first: { version: address.version, value: first },
    last: { version: address.version, value: first + (1n << hostBits) - 1n },
  };
}

export function isInside(address: IpAddress, network: IpInterface): boolean {
  const { first, last } = networkOf(network);
  return address.version === first.version && address.value >= first.value && address.value <= last.value;
}

export function isSameIp(a: IpAddress, b: IpAddress): boolean {
  return a.version === b.version && a.value === b.value;
}

/** Why no network card can have this address; undefined if it can. */
export function specialUse({ version, value }: IpAddress): string | undefined {
  if (value === 0n) return 'it means "no address"';
  if (version === 4) {
    const first = value >> 24n;
    if (first === 127n) return 'it is a loopback address';
    if (first === 0n) return 'addresses that begin with 0 are reserved';
    if (first >= 224n && first < 240n) return 'it is a multicast address';
    return first >= 240n ? 'it is reserved' : undefined;
  }
  if (value === 1n) return 'it is the loopback address';
  return value >> 120n === 0xffn ? 'it is a multicast address' : undefined;
}

export function isLinkLocal({ version, value }: IpAddress): boolean {
  return version === 4 ? value >> 16n === 0xa9fen : value >> 118n === 0x3fan;
}

function parseFour(text: string): bigint | undefined {
  const parts = text.split('.');
  // A leading zero means octal to some programs and decimal to others.
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255))
    return undefined;
  return parts.reduce((sum, part) => (sum << 8n) + BigInt(part), 0n);
}

function parseSix(text: string): bigint | undefined {
  const embedded = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  if (embedded) {
    const four = parseFour(embedded[2] ?? '');
    if (four === undefined) return undefined;
    return parseSix(`${embedded[1]}${(four >> 16n).toString(16)}:${(four & 0xffffn).toString(16)}`);
  }
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [head = [], tail = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array.from({ length: Math.max(missing, 0) }, () => '0'), ...tail];
  if (!groups.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  return groups.reduce((sum, group) => (sum << 16n) + BigInt(`0x${group}`), 0n);
}

/** The longest run of zero groups becomes `::`, as RFC 5952 requires. */
function shortened(groups: readonly string[]): string {
  let best = { start: 0, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (groups[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
  }
  if (best.length < 2) return groups.join(':');
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`;
}
