/** A resource's name inside its stack: `vm.web`, `vm.worker[2]`, `vm.gpu["0000:01:00"]`. Stable; never a VM id. */

declare const addressBrand: unique symbol;
export type Address = string & { readonly [addressBrand]: 'Address' };

/** Groups without `count` or `each` have one member, addressed by the group's name alone. */
export function vmAddress(group: string, key?: number | string): Address {
  const suffix = key === undefined ? '' : typeof key === 'number' ? `[${key}]` : `[${JSON.stringify(key)}]`;
  return `vm.${group}${suffix}` as Address;
}

export function parseAddress(text: string): { readonly group: string; readonly key?: number | string } | undefined {
  const match = /^vm\.([A-Za-z][A-Za-z0-9_-]*)(?:\[(\d+|"(?:[^"\\]|\\.)*")\])?$/.exec(text);
  if (!match) return undefined;
  const [, group = '', key] = match;
  if (key === undefined) return { group };
  return { group, key: key.startsWith('"') ? (JSON.parse(key) as string) : Number(key) };
}

export function toAddress(text: string): Address | undefined {
  return parseAddress(text) ? (text as Address) : undefined;
}

/** Whether `--only vm.worker` means `vm.worker[2]`: a group's name covers its members. */
export function covers(selector: string, address: Address): boolean {
  return address === selector || address.startsWith(`${selector}[`);
}
