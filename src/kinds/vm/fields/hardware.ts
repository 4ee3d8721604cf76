/** CPU, firmware, agent and start order of a VM. */
import { z } from 'zod';
import { block, byteSize, duration, field, volumeName, whole, word } from '../../fields/field.ts';
import { hotplug, onceThere } from './effects.ts';

const ONE_MIB = 1024 ** 2;

export const cpuFields = block(() => ({
  cores: field(whole(1, 512).optional(), {
    description: 'Cores per socket.',
    wire: ['cores'],
    effect: 'restart',
    serverDefault: '1',
  }),
  sockets: field(whole(1, 4).optional(), {
    description: 'CPU sockets.',
    wire: ['sockets'],
    effect: 'restart',
    serverDefault: '1',
  }),
  vcpus: field(whole(1).optional(), {
    description: 'Virtual CPUs plugged in at start; the rest can be added while running.',
    wire: ['vcpus'],
    effect: hotplug('cpu'),
  }),
  type: field(word().optional(), {
    description:
      'CPU model that the guest sees; custom-NAME is a custom model of the datacenter, which alone can have a `reported-model`.',
    wire: ['cpu', 'cputype'],
    effect: 'restart',
    serverDefault: 'kvm64',
    examples: ['host', 'x86-64-v2-AES'],
  }),
  flags: field(z.array(z.string().regex(/^[+-][a-z0-9-]+$/)).optional(), {
    description: 'CPU flags to add (+) or remove (-).',
    wire: ['cpu', 'flags'],
    words: 'list',
    effect: 'restart',
  }),
  hidden: field(z.boolean().optional(), {
    description: 'Hide from the guest that it runs on KVM.',
    wire: ['cpu', 'hidden'],
    effect: 'restart',
    serverDefault: 'false',
  }),
  hv_vendor_id: field(
    z
      .string()
      .regex(/^[a-zA-Z0-9]{1,12}$/, 'a Hyper-V vendor id has 1 to 12 letters and digits')
      .optional(),
    {
      description: 'Hyper-V vendor id, which some drivers of Windows guests look for.',
      wire: ['cpu', 'hv-vendor-id'],
      effect: 'restart',
    },
  ),
  phys_bits: field(z.union([whole(8, 64), z.enum(['host'])]).optional(), {
    description: 'Physical address bits reported to the guest; host uses those of the host.',
    wire: ['cpu', 'phys-bits'],
    words: 'number-or-text',
    effect: 'restart',
  }),
  guest_phys_bits: field(whole(32, 64).optional(), {
    description: 'Physical address bits that the guest can use.',
    wire: ['cpu', 'guest-phys-bits'],
    effect: 'restart',
    since: '9.1',
  }),
  level: field(whole(0, 4_294_967_295).optional(), {
    description: 'Highest basic CPUID leaf that the guest can ask for.',
    wire: ['cpu', 'level'],
    effect: 'restart',
    since: '9.2',
  }),
  affinity: field(
    z
      .string()
      .regex(/^\d+(-\d+)?(,\d+(-\d+)?)*$/, 'CPUs of the host are written as in 0,5,8-11')
      .optional(),
    {
      description: 'CPUs of the host that the VM may run on.',
      wire: ['affinity'],
      effect: 'restart',
      rootOnly: true,
      examples: ['0,5,8-11'],
    },
  ),
  limit: field(z.number().min(0).max(128).optional(), {
    description: 'Limit of CPU time, in CPUs; 0 for none.',
    wire: ['cpulimit'],
    effect: 'live',
    serverDefault: '0',
  }),
  units: field(whole(1, 10_000).optional(), {
    description: 'CPU weight relative to other VMs.',
    wire: ['cpuunits'],
    effect: 'live',
    serverDefault: '100',
  }),
  numa: field(z.boolean().optional(), {
    description: 'Show a NUMA topology to the guest.',
    wire: ['numa'],
    effect: 'restart',
    serverDefault: 'false',
  }),
})).describe('Processors.');

export const efiFields = block(() => ({
  storage: field(word(), {
    description: 'Storage for the EFI variables. Another storage moves them.',
    wire: ['efidisk0', 'file'],
    words: 'storage',
    effect: onceThere,
  }),
  type: field(z.enum(['2m', '4m']).optional(), {
    description: 'Size of the variable store; 4m for a new one.',
    wire: ['efidisk0', 'efitype'],
    effect: 'creation',
  }),
  secure_boot: field(z.boolean().optional(), {
    description: 'Enrol the distributors’ and Microsoft’s keys, which switches secure boot on; off for a new store.',
    wire: ['efidisk0', 'pre-enrolled-keys'],
    effect: 'creation',
  }),
  ms_cert: field(z.enum(['2011', '2023', '2023w', '2023k']).optional(), {
    description:
      'Microsoft certificates that the store must have, in addition to the keys of secure_boot: 2023k has all of 2023. Proxmox adds them while the VM is off, and never removes any.',
    wire: ['efidisk0', 'ms-cert'],
    effect: 'restart',
    since: '9.1',
    valuesSince: { '2023w': '9.2', '2023k': '9.2' },
    serverDefault: '2011',
    examples: ['2023k'],
  }),
  import_from: field(volumeName().optional(), {
    description: 'Volume to copy into a new store: the EFI variables of another VM, or an import file.',
    wire: ['efidisk0', 'import-from'],
    words: 'import-source',
    effect: 'creation',
  }),
})).describe('EFI variable store, for the firmware ovmf.');

export const tpmFields = block(() => ({
  storage: field(word(), {
    description: 'Storage for the TPM state. Another storage moves it, while the VM is off.',
    wire: ['tpmstate0', 'file'],
    words: 'storage',
    effect: 'restart',
  }),
  version: field(z.enum(['v1.2', 'v2.0']).optional(), {
    description: 'TPM version; v2.0 for a new one.',
    wire: ['tpmstate0', 'version'],
    effect: 'creation',
  }),
  import_from: field(volumeName().optional(), {
    description: 'Volume to copy into a new TPM: the state of another VM, or an import file.',
    wire: ['tpmstate0', 'import-from'],
    words: 'import-source',
    effect: 'creation',
  }),
})).describe('Trusted platform module.');

export const agentFields = block(() => ({
  enabled: field(z.boolean(), {
    description: 'Give the VM the port that the guest agent uses.',
    wire: ['agent', 'enabled'],
    effect: 'restart',
    serverDefault: 'false',
  }),
  trim: field(z.boolean().optional(), {
    description: 'Trim disks after a clone or move.',
    wire: ['agent', 'fstrim_cloned_disks'],
    effect: 'live',
    serverDefault: 'false',
  }),
  freeze: field(z.boolean().optional(), {
    description: 'Freeze file systems during backups.',
    wire: ['agent', 'freeze-fs'],
    effect: 'restart',
    serverDefault: 'true',
  }),
  type: field(z.enum(['virtio', 'isa']).optional(), {
    description: 'Kind of port.',
    wire: ['agent', 'type'],
    effect: 'restart',
    serverDefault: 'virtio',
  }),
})).describe('QEMU guest agent.');

const wholeSeconds = duration().pipe(z.number().multipleOf(1000, 'Proxmox accepts whole seconds here'));

export const startupFields = block(() => ({
  order: field(whole(0).optional(), {
    description: 'Position in the start order of the host; needs Sys.Modify on /.',
    wire: ['startup', 'order'],
    effect: 'live',
  }),
  up: field(wholeSeconds.optional(), {
    description: 'Delay before the next VM starts.',
    wire: ['startup', 'up'],
    words: 'seconds',
    effect: 'live',
  }),
  down: field(wholeSeconds.optional(), {
    description: 'Timeout of a shutdown.',
    wire: ['startup', 'down'],
    words: 'seconds',
    effect: 'live',
  }),
})).describe('Order and delays when the host starts and stops its VMs.');

export const vgaMemory = byteSize().pipe(
  z
    .number()
    .min(4 * ONE_MIB)
    .max(512 * ONE_MIB)
    .multipleOf(ONE_MIB),
);
