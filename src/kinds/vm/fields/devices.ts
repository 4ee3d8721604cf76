/** Devices of the host passed to a VM. */
import { z } from 'zod';
import { block, field, word } from '../../fields/field.ts';
import { hotplugUsbDevice } from './effects.ts';

/** An id that the guest sees instead of the device's own. */
function shownId(description: string, part: string) {
  return field(
    z
      .string()
      .regex(/^0x[0-9a-fA-F]{4}$/, 'an id is 0x and four hexadecimal digits, for example 0x10de')
      .optional(),
    { description, wire: ['hostpci', part], effect: 'restart' },
  );
}

export const pciDeviceFields = block(() => ({
  mapping: field(word().optional(), {
    description: 'Name of a PCI mapping.',
    wire: ['hostpci', 'mapping'],
    excludes: ['host'],
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
        'PCI address on the host, of a whole device (0000:01:00) or of one function (0000:01:00.0). A token can use it only through a mapping: Proxwright finds the mapping of the device, or creates one if the token may.',
      wire: ['hostpci', 'host'],
      words: 'pci-address',
      excludes: ['mapping'],
      effect: 'restart',
    },
  ),
  pcie: field(z.boolean().optional(), {
    description: 'Attach as PCI Express (machine q35).',
    wire: ['hostpci', 'pcie'],
    effect: 'restart',
    serverDefault: 'false',
  }),
  primary_gpu: field(z.boolean().optional(), {
    description: 'The guest’s primary graphics card.',
    wire: ['hostpci', 'x-vga'],
    effect: 'restart',
    serverDefault: 'false',
  }),
  rom_bar: field(z.boolean().optional(), {
    description: 'Show the option ROM to the guest.',
    wire: ['hostpci', 'rombar'],
    effect: 'restart',
    serverDefault: 'true',
  }),
  rom_file: field(word().optional(), {
    description: 'File below /usr/share/kvm on the node with another option ROM.',
    wire: ['hostpci', 'romfile'],
    effect: 'restart',
    rootOnly: true,
  }),
  mdev: field(word().optional(), {
    description: 'Type of a mediated device.',
    wire: ['hostpci', 'mdev'],
    effect: 'restart',
  }),
  legacy_igd: field(z.boolean().optional(), {
    description: 'Pass an integrated Intel graphics card in legacy mode, as the primary card (machine pc, vga none).',
    wire: ['hostpci', 'legacy-igd'],
    effect: 'restart',
    serverDefault: 'false',
  }),
  vendor_id: shownId('Vendor id that the guest sees.', 'vendor-id'),
  device_id: shownId('Device id that the guest sees.', 'device-id'),
  sub_vendor_id: shownId('Subsystem vendor id that the guest sees.', 'sub-vendor-id'),
  sub_device_id: shownId('Subsystem device id that the guest sees.', 'sub-device-id'),
}));

export const usbDeviceFields = block(() => ({
  mapping: field(word().optional(), {
    description: 'Name of a USB mapping.',
    wire: ['usb', 'mapping'],
    excludes: ['host'],
    effect: hotplugUsbDevice,
  }),
  spice: field(z.literal(true).optional(), {
    description: 'A port for devices redirected by SPICE.',
    wire: ['usb', 'host'],
    words: 'spice',
    excludes: ['mapping'],
    effect: hotplugUsbDevice,
  }),
  usb3: field(z.boolean().optional(), {
    description: 'Attach as USB 3.',
    wire: ['usb', 'usb3'],
    effect: hotplugUsbDevice,
    serverDefault: 'false',
  }),
}));
