/** Devices of the host passed to a VM. */
import { z } from 'zod';
import { field, word } from '../field.ts';

export const pciDeviceFields = z.strictObject({
  mapping: field(word().optional(), {
    description: 'Name of a PCI mapping.',
    pve: 'hostpci.mapping',
    effect: 'restart',
  }),
  device: field(
    z
      .string()
      .regex(
        /^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(\.[0-7])?$/,
        'a PCI address looks like 0000:01:00 or 01:00.0',
      )
      .optional(),
    {
      description:
        'PCI address on the host, of a whole device (0000:01:00) or of one function (0000:01:00.0). A token may use it only through a mapping: one that stands for it is found, or made where the token may.',
      pve: 'hostpci.host',
      effect: 'restart',
    },
  ),
  pcie: field(z.boolean().optional(), {
    description: 'Attach as PCI Express (machine q35).',
    pve: 'hostpci.pcie',
    effect: 'restart',
  }),
  primary_gpu: field(z.boolean().optional(), {
    description: 'The guest’s primary graphics card.',
    pve: 'hostpci.x-vga',
    effect: 'restart',
  }),
  rom_bar: field(z.boolean().optional(), {
    description: 'Show the option ROM to the guest.',
    pve: 'hostpci.rombar',
    effect: 'restart',
    serverDefault: 'true',
  }),
  mdev: field(word().optional(), {
    description: 'Type of a mediated device.',
    pve: 'hostpci.mdev',
    effect: 'restart',
  }),
});

export const usbDeviceFields = z.strictObject({
  mapping: field(word().optional(), {
    description: 'Name of a USB mapping.',
    pve: 'usb.mapping',
    effect: 'hotplug-usb',
  }),
  spice: field(z.literal(true).optional(), {
    description: 'A port for devices redirected by SPICE.',
    pve: 'usb.host',
    effect: 'hotplug-usb',
  }),
  usb3: field(z.boolean().optional(), { description: 'Attach as USB 3.', pve: 'usb.usb3', effect: 'hotplug-usb' }),
});
