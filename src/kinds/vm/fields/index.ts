/**
 * The field table of a VM: everything a stack may say about one, after variables, defaults, groups and ranges are resolved.
 * A field that is not set is absent, and stays as the template or the server has it.
 */
import { z } from 'zod';
import { VGA_TYPES } from '../../../pve/wire/index.ts';
import { block, byteSize, field, singleLine, whole, word } from '../../fields/field.ts';
import { cloudInitFields } from './cloud-init.ts';
import { pciDeviceFields, usbDeviceFields } from './devices.ts';
import { diskSlots } from './disks.ts';
import { hotplug, unlessBalloonSwitches, unlessCpuOrMemory } from './effects.ts';
import { haFields } from './ha.ts';
import { agentFields, cpuFields, efiFields, startupFields, tpmFields, vgaMemory } from './hardware.ts';
import { hooksFields, readyFields, snapshotFields, updateFields } from './lifecycle.ts';
import { memoryFields } from './memory.ts';
import { nicSlots } from './nics.ts';
import { platformFields } from './platform.ts';

const ONE_MIB = 1024 ** 2;

const name = field(
  z
    .string()
    .max(63)
    .regex(
      /^(?!-)[A-Za-z0-9-]+(?<!-)(\.(?!-)[A-Za-z0-9-]+(?<!-))*$/,
      'a VM name is a DNS name: letters, digits, inner hyphens, dots between labels',
    ),
  { description: 'Name of the VM; with cloud-init also its host name.', wire: ['name'], effect: 'live' },
);

const tag = z
  .string()
  .regex(/^[A-Za-z0-9_][A-Za-z0-9_.+-]*$/, 'a tag has letters and digits, and after the first character also _ - + .');

const clone = block(() => ({
  template: field(z.union([z.string().min(1), z.number().int()]), {
    description: 'Name or id of the template to clone.',
    effect: 'creation',
  }),
  mode: field(z.enum(['full', 'linked']).default('full'), {
    description: 'full copies every disk; linked shares the disks of the template and stays on their storage.',
    effect: 'creation',
  }),
  storage: field(z.string().optional(), { description: 'Target storage of a full clone.', effect: 'creation' }),
  format: field(z.enum(['raw', 'qcow2', 'vmdk']).optional(), {
    description: 'Image format of a full clone on file storage.',
    effect: 'creation',
  }),
})).describe('The template to clone.');

export const vmFieldsSchema = block(() => ({
  name,
  vmid: field(whole(100, 999_999_999).optional(), {
    description: 'Id of the VM; the next free one by default.',
    effect: 'creation',
  }),
  node: field(z.string().min(1), {
    description: 'Node of the VM; a changed node migrates it.',
    effect: 'creation',
  }),
  role: field(z.string().min(1).optional(), {
    description: 'Purpose of the VM; appears in the outputs.',
    effect: 'none',
  }),
  guest: field(z.enum(['cloud-init', 'talos', 'plain']).default('plain'), {
    description: 'Kind of operating system: decides how it is configured and when it is ready.',
    effect: 'none',
  }),
  description: field(z.string().max(8000).optional(), {
    description: 'Notes of the VM.',
    wire: ['description'],
    words: 'notes',
    effect: 'live',
  }),
  tags: field(z.array(tag).optional(), {
    description: 'Tags; kept as a set.',
    wire: ['tags'],
    words: 'tags',
    effect: 'live',
    unordered: true,
  }),
  pool: field(z.string().min(1).optional(), {
    description: 'Pool that the VM joins when it is created.',
    effect: 'creation',
  }),
  ownership: field(z.enum(['line', 'off']).default('line'), {
    description: 'Whether a line in the notes names the stack that owns the VM.',
    wire: ['description'],
    words: 'ownership-line',
    effect: 'live',
  }),
  clone: clone.optional(),
  cpu: cpuFields.optional(),
  memory: field(
    byteSize()
      .pipe(
        z
          .number()
          .min(16 * ONE_MIB)
          .multipleOf(ONE_MIB),
      )
      .optional(),
    {
      description: 'RAM given to the guest.',
      wire: ['memory', 'current'],
      words: 'mebibytes',
      effect: hotplug('memory'),
      serverDefault: '512MiB',
    },
  ),
  balloon: field(z.union([z.literal(false), byteSize().pipe(z.number().multipleOf(ONE_MIB))]).optional(), {
    description: 'Minimum memory under memory pressure; false switches ballooning off.',
    wire: ['balloon'],
    words: 'balloon',
    effect: unlessBalloonSwitches,
  }),
  disks: diskSlots.optional(),
  nics: nicSlots.optional(),
  boot: field(
    z
      .array(
        z
          .string()
          .regex(
            /^(ide|sata|scsi|virtio|net|usb|hostpci)\d+$/,
            'a boot device is a disk, net, usb or hostpci slot, for example scsi0',
          ),
      )
      .min(1)
      .optional(),
    {
      description: 'Boot order.',
      wire: ['boot'],
      words: 'boot',
      effect: 'restart',
    },
  ),
  bios: field(z.enum(['seabios', 'ovmf']).optional(), {
    description: 'Firmware.',
    wire: ['bios'],
    effect: 'restart',
    serverDefault: 'seabios',
  }),
  machine: field(word().optional(), {
    description: 'Machine type.',
    wire: ['machine', 'type'],
    effect: 'restart',
    examples: ['q35', 'pc'],
  }),
  os_type: field(
    z
      .enum([
        'other',
        'wxp',
        'w2k',
        'w2k3',
        'w2k8',
        'wvista',
        'win7',
        'win8',
        'win10',
        'win11',
        'l24',
        'l26',
        'solaris',
      ])
      .optional(),
    {
      description: 'Guest operating system, as Proxmox names it.',
      wire: ['ostype'],
      effect: 'restart',
      serverDefault: 'other',
    },
  ),
  scsi_controller: field(
    z.enum(['lsi', 'lsi53c810', 'virtio-scsi-pci', 'virtio-scsi-single', 'megasas', 'pvscsi']).optional(),
    { description: 'SCSI controller.', wire: ['scsihw'], effect: 'restart', serverDefault: 'lsi' },
  ),
  hotplug: field(z.array(z.enum(['network', 'disk', 'usb', 'cpu', 'memory', 'cloudinit'])).optional(), {
    description: 'What Proxmox may change while the VM runs.',
    wire: ['hotplug'],
    words: 'hotplug',
    effect: unlessCpuOrMemory,
    serverDefault: 'network,disk,usb',
  }),
  efi: efiFields.optional(),
  tpm: tpmFields.optional(),
  cloud_init: cloudInitFields.optional(),
  pci: z
    .record(z.string().regex(/^hostpci([0-9]|1[0-5])$/, 'a PCI slot is hostpci0–15'), pciDeviceFields)
    .describe('PCI devices of the host passed to the VM, by slot.')
    .optional(),
  usb: z
    .record(z.string().regex(/^usb([0-9]|1[0-3])$/, 'a USB slot is usb0–13'), usbDeviceFields)
    .describe('USB devices of the host passed to the VM, by slot.')
    .optional(),
  serial: field(
    z.record(z.string().regex(/^serial[0-3]$/, 'a serial port is serial0–3'), z.literal('socket')).optional(),
    {
      description: 'Serial ports.',
      wire: ['serial'],
      effect: 'restart',
    },
  ),
  vga: block(() => ({
    type: field(z.enum(VGA_TYPES).optional(), {
      description: 'Graphics card.',
      wire: ['vga', 'type'],
      effect: 'restart',
      serverDefault: 'std',
    }),
    memory: field(vgaMemory.optional(), {
      description: 'Graphics memory.',
      wire: ['vga', 'memory'],
      words: 'mebibytes',
      effect: 'restart',
    }),
    clipboard: field(z.union([z.literal(false), z.enum(['vnc'])]).optional(), {
      description: 'Share the clipboard with a VNC console instead of SPICE; false for none.',
      wire: ['vga', 'clipboard'],
      words: 'text-or-false',
      effect: 'restart',
      since: '8.1',
    }),
  }))
    .describe('Graphics.')
    .optional(),
  rng: field(z.enum(['/dev/urandom', '/dev/random', '/dev/hwrng']).optional(), {
    description: 'Source of a virtual random number generator. /dev/hwrng needs Mapping.Use on /mapping/hwrng.',
    wire: ['rng0', 'source'],
    effect: 'restart',
  }),
  tablet: field(z.boolean().optional(), {
    description: 'Pointer device with absolute positions.',
    wire: ['tablet'],
    effect: hotplug('usb'),
    serverDefault: 'true',
  }),
  agent: agentFields.optional(),
  on_boot: field(z.boolean().optional(), {
    description: 'Start the VM with its host.',
    wire: ['onboot'],
    effect: 'live',
    serverDefault: 'false',
  }),
  startup: startupFields.optional(),
  protection: field(z.boolean().optional(), {
    description: 'Refuse to destroy the VM or its disks.',
    wire: ['protection'],
    effect: 'live',
    serverDefault: 'false',
  }),
  ...platformFields,
  ...memoryFields,
  ha: haFields.optional(),
  power: field(z.enum(['running', 'stopped']).default('running'), {
    description: 'State after creation; later only a change in the file takes effect.',
    effect: 'live',
  }),
  restart: field(z.enum(['never', 'when_needed']).default('never'), {
    description: 'Whether a running VM may be restarted for a change that needs it.',
    effect: 'none',
  }),
  ready: readyFields.optional(),
  update: updateFields.optional(),
  snapshot: snapshotFields.optional(),
  hooks: hooksFields.optional(),
  extra: field(
    z
      .record(
        z.string().regex(/^[a-z][a-z0-9_-]*$/, 'a Proxmox key has lower-case letters, digits, _ and -'),
        z.union([singleLine(), z.number(), z.boolean()]),
      )
      .optional(),
    { description: 'Raw Proxmox keys that have no field.', effect: 'restart' },
  ),
}));

/** A VM as the engine works with it. */
export type VmFields = z.output<typeof vmFieldsSchema>;
/** A VM as it is written. */
export type VmFieldsInput = z.input<typeof vmFieldsSchema>;
