/**
 * Configuration values with a grammar other than property strings: tags, SSH keys, the boot order and the description.
 * Mirrors get_unique_tags of pve-guest-common, src/PVE/GuestHelpers.pm; print_bootorder and verify_bootdev of qemu-server,
 * src/PVE/QemuServer.pm.
 */
import { describeConfigKey } from './config-keys.ts';
import { percentDecode, percentEncode } from './encoding.ts';
import { BOOT_FORMAT } from './formats.ts';
import { PropertyValue, parseProperty, printProperty } from './property-string.ts';
import { byCodeUnit, splitList } from './scalars.ts';

/** `tag-style` of the datacenter. By default the server lower-cases and sorts tags. */
export interface TagStyle {
  readonly caseSensitive: boolean;
  readonly keepOrder: boolean;
}

const DEFAULT_TAG_STYLE: TagStyle = { caseSensitive: false, keepOrder: false };

/** The distinct tags of a list, as the server stores them. */
export function parseTags(text: string, style: TagStyle = DEFAULT_TAG_STYLE): string[] {
  const tags = splitList(text).map((tag) => (style.caseSensitive ? tag : tag.toLowerCase()));
  const distinct = [...new Set(tags)];
  return style.keepOrder ? distinct : distinct.sort(byCodeUnit);
}

export function printTags(tags: readonly string[]): string {
  return tags.join(';');
}

export function isTag(text: string): boolean {
  return /^[a-z0-9_][a-z0-9_\-+.]*$/i.test(text);
}

/** Compares sets and ignores case, because the `tag-style` at the time of writing is not known. */
export function equalTags(a: string, b: string): boolean {
  return printTags(parseTags(a)) === printTags(parseTags(b));
}

/**
 * `sshkeys`: public keys, one per line, percent-encoded BEFORE the request is form-encoded, and returned encoded. A blank
 * must be `%20`; the server rejects `+` and a bare `@` with "invalid urlencoded string".
 */
export function encodeSshKeys(keys: readonly string[]): string {
  return percentEncode(keys.join('\n'));
}

/** The keys of a stored value, trimmed, without empty lines. */
export function decodeSshKeys(encoded: string): string[] {
  return percentDecode(encoded)
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Whether two stored values contain the same keys, in any order. */
export function equalSshKeys(a: string, b: string): boolean {
  return canonicalSshKeys(a) === canonicalSshKeys(b);
}

export function canonicalSshKeys(encoded: string): string {
  return [...new Set(decodeSshKeys(encoded))].sort(byCodeUnit).join('\n');
}

/** `boot`: a list of devices, or the old letters. The server stores an emptied order as nothing and returns one blank. */
export type BootOrder =
  | { readonly kind: 'order'; readonly devices: readonly string[] }
  /** Letters out of a, c, d, n: floppy, disk, CD, network. */
  | { readonly kind: 'legacy'; readonly letters: string };

/** What the server assumes without `boot`. */
export const LEGACY_BOOT_LETTERS = 'cdn';

export function parseBootOrder(text: string | undefined): BootOrder | undefined {
  if (text === undefined) return { kind: 'legacy', letters: LEGACY_BOOT_LETTERS };
  const parsed = parseProperty(BOOT_FORMAT, text);
  if (!parsed.ok) return undefined;
  const order = parsed.value.get('order');
  const letters = parsed.value.get('legacy');
  // `order` takes precedence over the letters.
  if (order !== undefined || letters === undefined) return { kind: 'order', devices: splitList(order ?? '') };
  return { kind: 'legacy', letters };
}

export function printBootOrder(devices: readonly string[]): string {
  return devices.length === 0 ? '' : printProperty(BOOT_FORMAT, new PropertyValue([['order', devices.join(';')]]));
}

/** Whether a boot order may contain this device: drives, network cards, USB and PCI devices. */
export function isBootDevice(name: string): boolean {
  const key = describeConfigKey(name);
  return key?.count !== undefined && (key.kind === 'drive' || ['net', 'usb', 'hostpci'].includes(key.name));
}

/** The server strips trailing white space and drops a description that is empty or just `0`. */
export function canonicalDescription(text: string): string {
  // Perl counts U+0085 as white space, JavaScript does not.
  const stripped = text.replace(/[\s\u0085]+$/, '');
  return stripped === '0' ? '' : stripped;
}

export function equalDescription(a: string, b: string): boolean {
  return canonicalDescription(a) === canonicalDescription(b);
}
