/** The `boot` key as a list of devices. */
import { splitProperty } from '../../pve/wire/index.ts';
import { splitList } from '../schema/perl-text.ts';

/** Rule [source QS API2/Qemu.pm $update_vm_api]: empty where the old letters are used, or nothing is said. */
export function bootOrderOf(boot: string | undefined): string[] {
  return splitList(splitProperty(boot ?? '').find((part) => part.key === 'order')?.value ?? '');
}

/** Rule [source QS QemuServer.pm print_bootorder]. */
export function printBootOrder(devices: readonly string[]): string {
  return devices.length === 0 ? '' : `order=${devices.join(';')}`;
}
