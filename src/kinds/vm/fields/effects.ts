/**
 * The effects that depend on something: on what the VM's `hotplug` key allows, on the bus, on the guest, on the values
 * themselves. Rows name them. They mirror vmconfig_hotplug_pending of qemu-server, src/PVE/QemuServer.pm.
 */
import type { ConditionalEffect } from '../../fields/field.ts';

/** The feature alone decides. */
export function hotplug(feature: 'network' | 'usb' | 'cpu' | 'memory'): ConditionalEffect {
  return { when: `\`hotplug\` has \`${feature}\``, isLive: ({ features }) => features.has(feature) };
}

/** Plugging and unplugging a drive; QEMU cannot do it on the other buses. */
export const hotplugDisk: ConditionalEffect = {
  when: '`hotplug` has `disk` and the slot is on the scsi or virtio bus',
  isLive: ({ key, features }) => features.has('disk') && /^(scsi|virtio)\d+$/.test(key),
};

/** Proxmox expects only these guests to cope with a new USB controller. */
const GUESTS_WITH_USB_HOTPLUG = ['l26', 'win8', 'win10', 'win11'];

export const hotplugUsbDevice: ConditionalEffect = {
  when: `\`hotplug\` has \`usb\` and \`os_type\` is ${GUESTS_WITH_USB_HOTPLUG.join(', ')}`,
  isLive: ({ features, current }) =>
    features.has('usb') && GUESTS_WITH_USB_HOTPLUG.includes(current.get('ostype') ?? ''),
};

/** Ballooning is a device: a size is set in it, but 0 removes it. */
export const unlessBalloonSwitches: ConditionalEffect = {
  when: 'ballooning is neither switched on nor off',
  isLive: ({ before, after }) => (after === undefined ? before !== '0' : (before === '0') === (after === '0')),
};

/** An existing volume can move; a new one needs a restart. */
export const onceThere: ConditionalEffect = {
  when: 'the VM has them already',
  isLive: ({ before }) => before !== undefined,
};

/** These two change how QEMU is started. */
export const unlessCpuOrMemory: ConditionalEffect = {
  when: 'neither the old nor the new list has `cpu` or `memory`',
  isLive: ({ before, after }) => !/cpu|memory/.test(`${before ?? ''} ${after ?? ''}`),
};
