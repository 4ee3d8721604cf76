/**
 * The format of a world file, which `proxwright sim --world FILE` reads. Everything has a default that makes a small
 * file useful; sizes are bytes or text with a binary unit (`20G`).
 */
import { z } from 'zod';
import { parseSize } from '../../pve/wire/index.ts';
import { knownReleases, NEWEST_RELEASE, versionNamed } from './releases.ts';

const size = z
  .union([z.number().int().nonnegative(), z.string()])
  .transform((value, context) => {
    const bytes = typeof value === 'number' ? value : parseSize(value.replace(/i?B?$/, ''));
    if (bytes === undefined) {
      context.addIssue({ code: 'custom', message: `"${value}" is not a size; write bytes or something like "20G"` });
      return z.NEVER;
    }
    return bytes;
  })
  .describe('Bytes, or text with a binary unit: 512K, 64M, 20G, 1T.');

const duration = z.number().nonnegative().describe('Milliseconds.');

const installation = z.strictObject({
  guest: z.string().describe('The guest profile that boots from the disk afterwards.'),
  takes_ms: duration.default(90_000).describe('Milliseconds from user space until the system is on the disk.'),
  needs_seed: z
    .boolean()
    .default(false)
    .describe('Begins only with user data from a NoCloud volume; without them it waits forever.'),
  data: size.default(1024 ** 3).describe('Data it writes.'),
  afterwards: z.enum(['off', 'reboot']).default('off').describe('Powers off, or boots what it installed.'),
});

const guest = z.strictObject({
  boot_ms: z.union([duration, z.literal('never')]).default(9_000),
  agent_ms: z.union([duration, z.enum(['none', 'silent'])]).default(2_000),
  agent_service: z
    .enum(['active', 'activating', 'failed', 'inactive'])
    .default('active')
    .describe('What `systemctl is-active qemu-guest-agent` says in the guest.'),
  network_ms: duration.default(3_000),
  shutdown_ms: z.union([duration, z.literal('ignored')]).default(2_500),
  cloud_init: z.boolean().default(true),
  os: z
    .strictObject({ id: z.string(), name: z.string(), version: z.string(), kernel: z.string() })
    .default({ id: 'linux', name: 'Linux', version: '1', kernel: '6.8.0' }),
  ports: z.array(z.number().int().min(1).max(65_535)).default([22]),
  installs: installation.optional().describe('Of an installation medium: what it puts on the first disk of the VM.'),
});

const checksums = z.partialRecord(z.enum(['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512']), z.string());

const volume = z.strictObject({
  name: z.string().min(1).describe('Behind the colon of the volume id: iso/debian.iso, 100/vm-100-disk-0.raw.'),
  node: z.string().optional().describe('For storage that is not shared; the entry node by default.'),
  size: size.optional().describe('Virtual size of images, length of other files.'),
  virtual_size: size.optional().describe('Of an import file: size of the image inside.'),
  used: size.optional(),
  data: size.optional().describe('Data in it: what a copy has to transfer.'),
  ctime: z.number().int().optional().describe('Epoch seconds.'),
  guest: z.string().optional().describe('What boots from it: a guest profile.'),
  checksums: checksums.optional().describe('Of a file, by algorithm.'),
});

const storage = z.strictObject({
  type: z.enum(['dir', 'nfs', 'lvmthin', 'lvm', 'zfspool', 'rbd']).default('dir'),
  content: z.array(z.enum(['images', 'rootdir', 'iso', 'vztmpl', 'backup', 'snippets', 'import'])).default(['images']),
  path: z.string().optional(),
  shared: z.boolean().optional(),
  disabled: z.boolean().default(false),
  nodes: z.array(z.string()).optional(),
  filesystem: z.string().default('root'),
  bandwidth: size.default(1024 ** 3).describe('Bytes a second, shared between running copies.'),
  options: z.record(z.string(), z.string()).default({}),
  volumes: z.array(volume).default([]),
});

const bridge = z.strictObject({
  cidr: z.string().optional(),
  vlan_aware: z.boolean().default(false),
  physical: z.boolean().default(true).describe('Whether a network card of the host is in it.'),
  active: z.boolean().default(true),
  dhcp: z
    .strictObject({
      first: z.string(),
      last: z.string(),
      prefix: z.number().int().default(24),
      reservations: z.record(z.string(), z.string()).default({}).describe('Addresses kept for cards, by MAC.'),
      any_vlan: z
        .boolean()
        .default(false)
        .describe('Whether it answers in every VLAN, not only in the untagged network.'),
    })
    .optional(),
});

const filesystem = z.strictObject({
  total: size,
  foreign: size.default(0).describe('Used by things outside this world.'),
  reserved: size.default(0),
});

const pciDevice = z.strictObject({
  id: z.string(),
  class: z.string().default('0x030000'),
  vendor: z.string(),
  device: z.string(),
  vendor_name: z.string().default(''),
  device_name: z.string().default(''),
  subsystem_vendor: z.string().default('0x0000'),
  subsystem_device: z.string().default('0x0000'),
  iommu_group: z.number().int().default(-1),
});

const node = z.strictObject({
  address: z.string().default('127.0.0.1'),
  online: z.boolean().default(true),
  cpus: z.number().int().positive().default(8),
  memory: size.default(32 * 1024 ** 3),
  memory_used: size
    .optional()
    .describe('In use when the simulation begins, with the guests; by default 1 GB without them.'),
  kvm: z.boolean().default(true),
  traffic_shaping: z.boolean().default(true).describe('Whether the kernel can limit the rate of a network card.'),
  uptime: z.number().int().nonnegative().default(86_400).describe('Seconds since the host was started.'),
  bridges: z.record(z.string(), bridge).default({ vmbr0: bridge.parse({}) }),
  filesystems: z.record(z.string(), filesystem).default({ root: { total: 500 * 1024 ** 3, foreign: 0, reserved: 0 } }),
  pci: z.array(pciDevice).default([]),
  directories: z
    .array(z.string().startsWith('/'))
    .default([])
    .describe('Directories of the host, for directory mappings, besides the usual ones and those of its storages.'),
  ssl_fingerprint: z.string().default(Array.from({ length: 32 }, () => '00').join(':')),
});

const token = z.strictObject({
  secret: z.string().min(1),
  privsep: z.boolean().default(true),
  expire: z.number().int().nonnegative().default(0),
  comment: z.string().optional(),
});

const user = z.strictObject({
  password: z.string().optional(),
  enable: z.boolean().default(true),
  expire: z.number().int().nonnegative().default(0),
  groups: z.array(z.string()).default([]),
  tokens: z.record(z.string(), token).default({}),
});

const acl = z.strictObject({
  path: z.string().startsWith('/'),
  role: z.string(),
  user: z.string().optional(),
  group: z.string().optional(),
  token: z.string().optional(),
  propagate: z.boolean().default(true),
});

const vm = z.strictObject({
  node: z.string().optional(),
  running: z.boolean().default(false),
  config: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  pending: z.record(z.string(), z.string()).default({}).describe('Values that wait for a restart.'),
  delete: z.array(z.string()).default([]).describe('Keys that the next restart removes.'),
});

const container = z.strictObject({
  node: z.string().optional(),
  name: z.string().optional(),
  running: z.boolean().default(false),
  memory: size.default(512 * 1024 ** 2),
  cores: z.number().int().positive().default(1),
});

const haRule = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('node-affinity'),
    resources: z.array(z.string()).describe('Service ids: vm:101.'),
    nodes: z.array(z.string()).describe('Names, each with a priority where it has one: pve1:2.'),
    strict: z.boolean().optional(),
    comment: z.string().optional(),
    disabled: z.boolean().default(false),
  }),
  z.strictObject({
    type: z.literal('resource-affinity'),
    resources: z.array(z.string()).describe('Service ids: vm:101.'),
    affinity: z.enum(['positive', 'negative']),
    comment: z.string().optional(),
    disabled: z.boolean().default(false),
  }),
]);

const download = z.strictObject({
  size: size.describe('Length of the file as it is served.'),
  virtual_size: size.optional().describe('Size of the disk in the image.'),
  format: z
    .enum(['iso', 'qcow2', 'raw', 'vmdk', 'ova', 'other'])
    .default('qcow2')
    .describe('What is inside, once it is unpacked.'),
  compression: z.enum(['gz', 'bz2', 'lzo', 'zst', 'xz']).optional(),
  unpacked_size: size.optional().describe('Length once it is unpacked.'),
  unpacked_checksums: checksums.default({}),
  mimetype: z.string().default('application/octet-stream'),
  checksums: checksums.default({}).describe('Of the file as it is served.'),
  status: z.number().int().default(200).describe('HTTP status; anything but 200 fails the download.'),
  trouble: z
    .enum(['unresolvable', 'refused', 'cut'])
    .optional()
    .describe(
      'Why the download fails: no such host, connection refused, or a connection that breaks half-way every time.',
    ),
  guest: z.string().optional().describe('What boots from it: a guest profile.'),
});

const contents = z.strictObject({
  guest: z.string().optional().describe('What boots from it: a guest profile.'),
  virtual_size: size.optional(),
});

const mapping = z.strictObject({
  map: z.array(z.string()).default([]),
  options: z.record(z.string(), z.string()).default({}),
});

/** Everything follows from the release unless it is set here. */
const versionDetails = z.strictObject({
  version: z.string().optional().describe('As `/version` says it: 8.4.14.'),
  release: z.string().optional(),
  repoid: z.string().optional(),
  qemu: z.string().optional(),
  qemu_patched: z
    .boolean()
    .default(true)
    .describe('Whether QEMU has the patches of Proxmox (saving memory, mirroring disks in use).'),
});

const version = z
  .union([z.string(), z.number(), versionDetails])
  .transform((value, context) => {
    const details = typeof value === 'object' ? value : { ...versionDetails.parse({}), version: String(value) };
    const name = details.version ?? NEWEST_RELEASE;
    const known = versionNamed(name);
    if (!known) {
      const releases = knownReleases().join(', ');
      context.addIssue({ code: 'custom', message: `there is no simulated release "${name}"; known are ${releases}` });
      return z.NEVER;
    }
    const { release = known.release, repoid = known.repoid, qemu = known.qemu } = details;
    return { version: known.version, release, repoid, qemu, qemu_patched: details.qemu_patched };
  })
  .prefault(NEWEST_RELEASE)
  .describe('A release of Proxmox VE, such as "8.4", or details of it.');

export const worldFileSchema = z.strictObject({
  version,
  cluster: z.string().optional().describe('Name of the cluster; leave out for a stand-alone node.'),
  entry_node: z.string().optional().describe('The node whose API is served; the first by default.'),
  datacenter: z.record(z.string(), z.string()).default({}),
  nodes: z.record(z.string().regex(/^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/), node),
  storages: z.record(z.string(), storage).default({}),
  guests: z.record(z.string(), guest).default({}).describe('Guest profiles of your own, by name.'),
  vms: z.record(z.string().regex(/^[1-9][0-9]{2,8}$/), vm).default({}),
  containers: z
    .record(z.string().regex(/^[1-9][0-9]{2,8}$/), container)
    .default({})
    .describe('Containers, by id: they are listed and occupy their ids, and cannot be used.'),
  tasks: z.array(z.string()).default([]).describe('UPIDs of tasks of other clients that run and do not end.'),
  ha: z
    .strictObject({
      resources: z.record(z.string(), z.record(z.string(), z.string())).default({}).describe('Options by service id.'),
      rules: z.record(z.string(), haRule).default({}),
      groups: z.record(z.string(), z.record(z.string(), z.string())).default({}),
    })
    .prefault({}),
  users: z.record(z.string(), user).default({}),
  groups: z.record(z.string(), z.strictObject({ comment: z.string().optional() })).default({}),
  roles: z.record(z.string(), z.array(z.string())).default({}),
  acl: z.array(acl).default([]),
  pools: z
    .record(
      z.string(),
      z.strictObject({
        comment: z.string().optional(),
        vms: z.array(z.number().int()).default([]),
        storages: z.array(z.string()).default([]),
      }),
    )
    .default({}),
  mappings: z
    .strictObject({
      pci: z.record(z.string(), mapping).default({}),
      usb: z.record(z.string(), mapping).default({}),
      dir: z.record(z.string(), mapping).default({}),
    })
    .prefault({}),
  downloads: z.record(z.string(), download).default({}).describe('What a download would find, by URL.'),
  contents: z
    .record(z.string().regex(/^[0-9a-f]{64}$/), contents)
    .default({})
    .describe('What is inside an uploaded file, by its SHA-256; those of downloads are known.'),
});

/** As written, defaults left out. */
export type WorldFile = z.input<typeof worldFileSchema>;
/** With all defaults filled in. */
export type CompleteWorldFile = z.output<typeof worldFileSchema>;
