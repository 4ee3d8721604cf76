/**
 * The `boot` value: a list of devices, or the old letters. An emptied order is stored as nothing and read back as one
 * blank. Mirrors qemu-server, src/PVE/QemuServer.pm: print_bootorder, verify_bootdev.
 */
import { describeConfigKey } from './config-keys.ts';
import { BOOT_FORMAT } from './formats/machine.ts';
import { splitList } from './list.ts';
import { PropertyValue, parseProperty, printProperty } from './property-string.ts';

export type BootOrder =
  | { readonly kind: 'order'; readonly devices: readonly string[] }
  /** Letters out of a, c, d, n: floppy, disk, CD, network. */
  | { readonly kind: 'legacy'; readonly letters: string };

/** What the server does when there is no `boot` at all. */
export const LEGACY_BOOT_LETTERS = 'cdn';

export function parseBootOrder(text: string | undefined): BootOrder | undefined {
  if (text === undefined) return { kind: 'legacy', letters: LEGACY_BOOT_LETTERS };
  const parsed = parseProperty(BOOT_FORMAT, text);
  if (!parsed.ok) return undefined;
  const order = parsed.value.get('order');
  const letters = parsed.value.get('legacy');
  // `order` wins where both are given.
  if (order !== undefined || letters === undefined) return { kind: 'order', devices: splitList(order ?? '') };
  return { kind: 'legacy', letters };
}

export function printBootOrder(devices: readonly string[]): string {
  return devices.length === 0 ? '' : printProperty(BOOT_FORMAT, new PropertyValue([['order', devices.join(';')]]));
}

/** Whether a device of this name may stand in a boot order: drives, network cards, USB and PCI devices. */
export function isBootDevice(name: string): boolean {
  const key = describeConfigKey(name);
  return key?.count !== undefined && (key.kind === 'drive' || ['net', 'usb', 'hostpci'].includes(key.name));
}
