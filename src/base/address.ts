/**
 * The name of a resource in its stack: `vm.web`, `vm.worker[2]`, `vm.gpu["0000:01:00"]`, `template.debian-12`,
 * `image.talos["pve1"]`. Stable; never a VM id.
 */

declare const addressBrand: unique symbol;
export type Address = string & { readonly [addressBrand]: 'Address' };

/**
 * `retired`: an earlier version of a template, by its id. `kept`: the VM that holds the kept disks of one that is replaced.
 * `replaced`: the old VM, until the new one is ready.
 */
export const ADDRESS_KINDS = ['vm', 'kept', 'replaced', 'template', 'retired', 'image'] as const;
export type AddressKind = (typeof ADDRESS_KINDS)[number];

/** Groups without `count` or `each` have one member, addressed by the group's name alone. */
export function vmAddress(group: string, key?: number | string): Address {
  return addressOf('vm', group, key);
}

/** `key` is the node, for a resource that exists on several nodes. */
export function addressOf(kind: AddressKind, name: string, key?: number | string): Address {
  const suffix = key === undefined ? '' : typeof key === 'number' ? `[${key}]` : `[${JSON.stringify(key)}]`;
  return `${kind}.${name}${suffix}` as Address; // brands are given here, and where a text was parsed
}

/** The same name with another beginning, if it has this one. */
function withBeginning(address: Address, before: RegExp, after: string): Address {
  return address.replace(before, after) as Address;
}

/** `kept.web` of `vm.web`: what holds its kept disks while it is replaced. */
export function keptAddress(vm: Address): Address {
  return withBeginning(vm, /^vm\./, 'kept.');
}

/** `vm.web` of `kept.web`. */
export function keeperOf(kept: Address): Address {
  return withBeginning(kept, /^kept\./, 'vm.');
}

/** `replaced.web` of `vm.web`: the old VM of a create-first replacement. */
export function replacedAddress(vm: Address): Address {
  return withBeginning(vm, /^vm\./, 'replaced.');
}

/** The VM of the file that an address belongs to: `vm.web` of `kept.web` and of `replaced.web`. */
export function mainAddress(address: Address): Address {
  return withBeginning(address, /^(?:kept|replaced)\./, 'vm.');
}

/** `vm.worker` of `vm.worker[3]`; an address without a key is its own group. */
export function groupAddress(address: string): string {
  return address.replace(/\[.*\]$/, '');
}

export function kindOf(address: string): AddressKind | undefined {
  return ADDRESS_KINDS.find((kind) => address.startsWith(`${kind}.`));
}

/** Names of groups are plain identifiers; templates and images are named after their content: `debian-12.5`. */
const FORM =
  /^(?:(?:vm|kept|replaced)\.([A-Za-z][A-Za-z0-9_-]*)|(?:template|retired|image)\.([A-Za-z0-9][A-Za-z0-9_.-]*))(?:\[(\d+|"(?:[^"\\]|\\.)*")\])?$/;

export function parseAddress(text: string): { readonly group: string; readonly key?: number | string } | undefined {
  const match = FORM.exec(text);
  if (!match) return undefined;
  const [, group = '', name = group, key] = match;
  if (key === undefined) return { group: name };
  return { group: name, key: key.startsWith('"') ? String(JSON.parse(key)) : Number(key) };
}

export function toAddress(text: string): Address | undefined {
  return parseAddress(text) ? (text as Address) : undefined; // has the form of one
}

/** Whether `--only vm.worker` includes `vm.worker[2]`: the name of a group covers its members. */
export function covers(selector: string, address: Address): boolean {
  return address === selector || address.startsWith(`${selector}[`);
}
