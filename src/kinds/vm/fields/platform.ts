/** The virtual board: options of the machine type, its identification, its clock, and devices that few VMs need. */
import { z } from 'zod';
import { block, duration, field, singleLine, volumeName, whole } from '../../fields/field.ts';

const switched = () => z.boolean().optional();

const machineOptions = block(() => ({
  viommu: field(z.union([z.literal(false), z.enum(['intel', 'virtio'])]).optional(), {
    description:
      'Virtual IOMMU, so that the guest can pass devices through to its own VMs; false for none. intel needs machine q35.',
    wire: ['machine', 'viommu'],
    words: 'text-or-false',
    effect: 'restart',
    since: '8.2',
  }),
  address_bits: field(whole(32, 64).optional(), {
    description: 'Address width of the virtual IOMMU, in bits; intel has 39 and 48.',
    wire: ['machine', 'aw-bits'],
    effect: 'restart',
    since: '9.1',
  }),
  s3: field(switched(), {
    description: 'Let the guest suspend to RAM.',
    wire: ['machine', 'enable-s3'],
    effect: 'restart',
    since: '8.4',
  }),
  s4: field(switched(), {
    description: 'Let the guest suspend to disk.',
    wire: ['machine', 'enable-s4'],
    effect: 'restart',
    since: '8.4',
  }),
})).describe('Options of the machine type.');

/** One text of the table that identifies the machine to its guest. */
function smbiosText(description: string, part: string) {
  return field(z.string().min(1).optional(), {
    description,
    wire: ['smbios1', part],
    words: 'base64',
    effect: 'restart',
  });
}

const smbios = block(() => ({
  serial: smbiosText('Serial number of the machine.', 'serial'),
  manufacturer: smbiosText('Manufacturer.', 'manufacturer'),
  product: smbiosText('Product name.', 'product'),
  version: smbiosText('Version of the product.', 'version'),
  sku: smbiosText('Stock keeping unit.', 'sku'),
  family: smbiosText('Product family.', 'family'),
})).describe(
  'How the machine identifies itself to its guest (SMBIOS type 1). The uuid is the identity of the VM: Proxmox generates it, and Proxwright keeps it.',
);

const watchdog = block(() => ({
  model: field(z.enum(['i6300esb', 'ib700']).optional(), {
    description: 'Watchdog that the guest sees.',
    wire: ['watchdog', 'model'],
    effect: 'restart',
    serverDefault: 'i6300esb',
  }),
  action: field(z.enum(['reset', 'shutdown', 'poweroff', 'pause', 'debug', 'none']).optional(), {
    description: 'What happens to a guest that stops answering it.',
    wire: ['watchdog', 'action'],
    effect: 'restart',
  }),
})).describe('Hardware watchdog.');

const audio = block(() => ({
  device: field(z.enum(['ich9-intel-hda', 'intel-hda', 'AC97']), {
    description: 'Sound card that the guest sees.',
    wire: ['audio0', 'device'],
    effect: 'restart',
  }),
  driver: field(z.enum(['spice', 'none']).optional(), {
    description: 'Where the sound goes.',
    wire: ['audio0', 'driver'],
    effect: 'restart',
    serverDefault: 'spice',
  }),
})).describe('Sound card.');

const spice = block(() => ({
  folder_sharing: field(switched(), {
    description: 'Let a SPICE client share a folder with the guest.',
    wire: ['spice_enhancements', 'foldersharing'],
    effect: 'restart',
    rootOnly: true,
    serverDefault: 'false',
  }),
  video_streaming: field(z.enum(['off', 'all', 'filter']).optional(), {
    description: 'Which parts of the screen SPICE sends as video.',
    wire: ['spice_enhancements', 'videostreaming'],
    effect: 'restart',
    rootOnly: true,
    serverDefault: 'off',
  }),
})).describe('Options for SPICE clients.');

const migration = block(() => ({
  max_downtime: field(duration().optional(), {
    description: 'Longest pause of the guest at the end of a live migration.',
    wire: ['migrate_downtime'],
    words: 'decimal-seconds',
    effect: 'live',
    serverDefault: '100ms',
  }),
  speed_mbps: field(whole(0).optional(), {
    description: 'Speed limit in MB/s; 0 for none.',
    wire: ['migrate_speed'],
    effect: 'live',
    serverDefault: '0',
  }),
})).describe('Live migration.');

const KEYBOARDS = [
  'da',
  'de',
  'de-ch',
  'en-gb',
  'en-us',
  'es',
  'fi',
  'fr',
  'fr-be',
  'fr-ca',
  'fr-ch',
  'hu',
  'is',
  'it',
  'ja',
  'lt',
  'mk',
  'nl',
  'no',
  'pl',
  'pt',
  'pt-br',
  'sl',
  'sv',
  'tr',
] as const;

const period = duration().pipe(z.number().int('Proxmox accepts whole milliseconds here').min(1));

export const platformFields = {
  machine_options: machineOptions.optional(),
  smbios: smbios.optional(),
  acpi: field(switched(), {
    description: 'ACPI, which Proxmox uses to shut the guest down.',
    wire: ['acpi'],
    effect: 'restart',
    serverDefault: 'true',
  }),
  kvm: field(switched(), {
    description: 'Hardware virtualisation; without it the guest is emulated, which is slow.',
    wire: ['kvm'],
    effect: 'restart',
    serverDefault: 'true',
  }),
  local_time: field(switched(), {
    description: 'The hardware clock shows local time, as Windows expects; by default for Windows guests only.',
    wire: ['localtime'],
    effect: 'restart',
  }),
  time_drift_fix: field(switched(), {
    description: 'Inject timer interrupts that the guest missed.',
    wire: ['tdf'],
    effect: 'restart',
    serverDefault: 'false',
  }),
  keyboard: field(z.enum(KEYBOARDS).optional(), {
    description: 'Keyboard layout of the VNC console; that of the datacenter by default.',
    wire: ['keyboard'],
    effect: 'restart',
  }),
  rng_limit: block(() => ({
    max_bytes: field(whole(0).optional(), {
      description: 'Random bytes that the guest gets in each period; 0 for no limit.',
      wire: ['rng0', 'max_bytes'],
      effect: 'restart',
      serverDefault: '1024',
    }),
    period: field(period.optional(), {
      description: 'Length of a period.',
      wire: ['rng0', 'period'],
      words: 'milliseconds',
      effect: 'restart',
      serverDefault: '1s',
    }),
  }))
    .describe('Limit of the virtual random number generator.')
    .optional(),
  watchdog: watchdog.optional(),
  audio: audio.optional(),
  spice: spice.optional(),
  migration: migration.optional(),
  hook_script: field(volumeName().optional(), {
    description: 'Snippet that Proxmox runs on the node when the VM starts and stops.',
    wire: ['hookscript'],
    effect: 'live',
    rootOnly: true,
    examples: ['local:snippets/hook.pl'],
  }),
  args: field(singleLine().min(1).optional(), {
    description: 'Raw arguments for QEMU.',
    wire: ['args'],
    effect: 'restart',
    rootOnly: true,
  }),
};
