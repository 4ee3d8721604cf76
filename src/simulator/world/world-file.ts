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
  boot_ms: z
    .union([duration, z.literal('never')])
    .default(9_000)
    .describe('Milliseconds from power-on until user space runs; `never` stays in the boot loader.'),
  agent_ms: z
    .union([duration, z.enum(['none', 'silent'])])
    .default(2_000)
    .describe('Milliseconds from user space until the agent answers; `none`: not installed, `silent`: never answers.'),
  agent_service: z
    .enum(['active', 'activating', 'failed', 'inactive'])
    .default('active')
    .describe('What `systemctl is-active qemu-guest-agent` says in the guest.'),
  network_ms: duration.default(3_000).describe('Milliseconds from user space until its addresses are configured.'),
  shutdown_ms: z
    .union([duration, z.literal('ignored')])
    .default(2_500)
    .describe('Milliseconds that a clean shutdown takes; `ignored`: the guest does not react to the power button.'),
  cloud_init: z.boolean().default(true).describe('Whether it reads a cloud-init drive or a NoCloud disc.'),
  os: z
    .strictObject({
      id: z.string().describe('As in /etc/os-release: debian.'),
      name: z.string().describe('As in /etc/os-release: Debian GNU/Linux.'),
      version: z.string().describe('As in /etc/os-release.'),
      kernel: z.string().describe('The release of the kernel.'),
    })
    .default({ id: 'linux', name: 'Linux', version: '1', kernel: '6.8.0' })
    .describe('What the agent reports about the operating system.'),
  ports: z
    .array(z.number().int().min(1).max(65_535))
    .default([22])
    .describe('TCP ports that answer once the network is up.'),
  installs: installation.optional().describe('Of an installation medium: what it puts on the first disk of the VM.'),
});

const checksums = z.partialRecord(z.enum(['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512']), z.string());

const volume = z.strictObject({
  name: z.string().min(1).describe('Behind the colon of the volume id: iso/debian.iso, 100/vm-100-disk-0.raw.'),
  node: z.string().optional().describe('For storage that is not shared; the entry node by default.'),
  size: size.optional().describe('Virtual size of images, length of other files.'),
  virtual_size: size.optional().describe('Of an import file: size of the image inside.'),
  used: size.optional().describe('What it occupies on the storage.'),
  data: size.optional().describe('Data in it: what a copy has to transfer.'),
  ctime: z.number().int().optional().describe('Epoch seconds.'),
  guest: z.string().optional().describe('What boots from it: a guest profile.'),
  checksums: checksums.optional().describe('Of a file, by algorithm.'),
});

const storage = z.strictObject({
  type: z.enum(['dir', 'nfs', 'lvmthin', 'lvm', 'zfspool', 'rbd']).default('dir').describe('Storage type.'),
  content: z
    .array(z.enum(['images', 'rootdir', 'iso', 'vztmpl', 'backup', 'snippets', 'import']))
    .default(['images'])
    .describe('Content types that it may hold.'),
  path: z.string().optional().describe('Directory of a storage that keeps files.'),
  shared: z.boolean().optional().describe('Whether all nodes see the same volumes; by default as its type is.'),
  disabled: z.boolean().default(false).describe('Whether it is switched off.'),
  nodes: z.array(z.string()).optional().describe('The nodes that have it; all by default.'),
  filesystem: z.string().default('root').describe('Which of the node’s `filesystems` holds it.'),
  bandwidth: size.default(1024 ** 3).describe('Bytes a second, shared between running copies.'),
  options: z
    .record(z.string(), z.string())
    .default({})
    .describe('Further lines of its definition, such as `thinpool` or `format`.'),
  volumes: z.array(volume).default([]).describe('Its volumes; those that a VM refers to need not be listed.'),
});

const bridge = z.strictObject({
  cidr: z.string().optional().describe('Address of the host in this network, with its prefix: 10.0.20.1/24.'),
  vlan_aware: z.boolean().default(false).describe('Whether it handles VLAN tags itself.'),
  physical: z.boolean().default(true).describe('Whether a network card of the host is in it.'),
  active: z.boolean().default(true).describe('Whether it is up.'),
  dhcp: z
    .strictObject({
      first: z.string().describe('First address of the range.'),
      last: z.string().describe('Last address of the range.'),
      prefix: z.number().int().default(24).describe('Length of the network prefix.'),
      reservations: z.record(z.string(), z.string()).default({}).describe('Addresses kept for cards, by MAC.'),
      any_vlan: z
        .boolean()
        .default(false)
        .describe('Whether it answers in every VLAN, not only in the untagged network.'),
    })
    .optional()
    .describe('A DHCP server in this network; none by default.'),
});

const filesystem = z.strictObject({
  total: size.describe('Size of the file system or pool.'),
  foreign: size.default(0).describe('Used by things outside this world.'),
  reserved: size.default(0).describe('Free, but not available: reserved blocks or a quota.'),
});

const pciDevice = z.strictObject({
  id: z.string().describe('PCI address: 0000:01:00.0.'),
  class: z.string().default('0x030000').describe('Class code; by default a display controller.'),
  vendor: z.string().describe('Vendor id: 0x10de.'),
  device: z.string().describe('Device id: 0x2231.'),
  vendor_name: z.string().default('').describe('Name of the vendor.'),
  device_name: z.string().default('').describe('Name of the device.'),
  subsystem_vendor: z.string().default('0x0000').describe('Vendor id of the card.'),
  subsystem_device: z.string().default('0x0000').describe('Device id of the card.'),
  iommu_group: z.number().int().default(-1).describe('IOMMU group; -1 if the host has no IOMMU.'),
});

const node = z.strictObject({
  address: z.string().default('127.0.0.1').describe('The address that the API reports; nothing connects to it.'),
  online: z.boolean().default(true).describe('Whether the node is up when the simulation begins.'),
  cpus: z.number().int().positive().default(8).describe('Logical processors.'),
  memory: size.default(32 * 1024 ** 3).describe('Memory of the host.'),
  memory_used: size
    .optional()
    .describe('In use when the simulation begins, with the guests; by default 1 GB without them.'),
  kvm: z.boolean().default(true).describe('Whether the host has hardware virtualization.'),
  traffic_shaping: z.boolean().default(true).describe('Whether the kernel can limit the rate of a network card.'),
  uptime: z.number().int().nonnegative().default(86_400).describe('Seconds since the host was started.'),
  bridges: z
    .record(z.string(), bridge)
    .default({ vmbr0: bridge.parse({}) })
    .describe('Network bridges, by name.'),
  filesystems: z
    .record(z.string(), filesystem)
    .default({ root: { total: 500 * 1024 ** 3, foreign: 0, reserved: 0 } })
    .describe('File systems and pools that storages use, by name; several storages may share one.'),
  pci: z.array(pciDevice).default([]).describe('PCI devices that VMs can use.'),
  directories: z
    .array(z.string().startsWith('/'))
    .default([])
    .describe('Directories of the host, for directory mappings, besides the usual ones and those of its storages.'),
  ssl_fingerprint: z
    .string()
    .default(Array.from({ length: 32 }, () => '00').join(':'))
    .describe('What `/nodes` reports; the certificate that is served has its own.'),
});

const token = z.strictObject({
  secret: z.string().min(1).describe('The secret half of the token.'),
  privsep: z.boolean().default(true).describe('Whether it needs ACL entries of its own.'),
  expire: z.number().int().nonnegative().default(0).describe('Epoch seconds; 0 means never.'),
  comment: z.string().optional().describe('Comment.'),
});

const user = z.strictObject({
  password: z.string().optional().describe('Without one the user cannot log in.'),
  enable: z.boolean().default(true).describe('Whether the account is enabled.'),
  expire: z.number().int().nonnegative().default(0).describe('Epoch seconds; 0 means never.'),
  groups: z.array(z.string()).default([]).describe('Groups of the user.'),
  tokens: z.record(z.string(), token).default({}).describe('API tokens, by the name after the `!`.'),
});

const acl = z.strictObject({
  path: z.string().startsWith('/').describe('Path of the entry: /vms/100.'),
  role: z.string().describe('A role of Proxmox or of this file.'),
  user: z.string().optional().describe('Who has the role: a user. Name one of user, group and token.'),
  group: z.string().optional().describe('Who has the role: a group.'),
  token: z.string().optional().describe('Who has the role: a token, as user@realm!name.'),
  propagate: z.boolean().default(true).describe('Whether paths below inherit it.'),
});

const vm = z.strictObject({
  node: z.string().optional().describe('The node it is on; the entry node by default.'),
  running: z.boolean().default(false).describe('Whether it runs when the simulation begins.'),
  config: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .default({})
    .describe('Its configuration, with the keys and values of Proxmox.'),
  pending: z.record(z.string(), z.string()).default({}).describe('Values that wait for a restart.'),
  delete: z.array(z.string()).default([]).describe('Keys that the next restart removes.'),
});

const container = z.strictObject({
  node: z.string().optional().describe('The node it is on; the entry node by default.'),
  name: z.string().optional().describe('Its name in lists.'),
  running: z.boolean().default(false).describe('Whether it is listed as running.'),
  memory: size.default(512 * 1024 ** 2).describe('Its memory in lists.'),
  cores: z.number().int().positive().default(1).describe('Its cores in lists.'),
});

const haRule = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('node-affinity'),
    resources: z.array(z.string()).describe('Service ids: vm:101.'),
    nodes: z.array(z.string()).describe('Names, each with a priority where it has one: pve1:2.'),
    strict: z.boolean().optional().describe('Whether the resources may run on no other node.'),
    comment: z.string().optional().describe('Comment.'),
    disabled: z.boolean().default(false).describe('Whether the rule is switched off.'),
  }),
  z.strictObject({
    type: z.literal('resource-affinity'),
    resources: z.array(z.string()).describe('Service ids: vm:101.'),
    affinity: z.enum(['positive', 'negative']).describe('On one node together, or on different nodes.'),
    comment: z.string().optional().describe('Comment.'),
    disabled: z.boolean().default(false).describe('Whether the rule is switched off.'),
  }),
]);

const download = z.strictObject({
  size: size.describe('Length of the file as it is served.'),
  virtual_size: size.optional().describe('Size of the disk in the image.'),
  format: z
    .enum(['iso', 'qcow2', 'raw', 'vmdk', 'ova', 'other'])
    .default('qcow2')
    .describe('What is inside, once it is unpacked.'),
  compression: z.enum(['gz', 'bz2', 'lzo', 'zst', 'xz']).optional().describe('How the file is compressed.'),
  unpacked_size: size.optional().describe('Length once it is unpacked.'),
  unpacked_checksums: checksums.default({}).describe('Checksums once it is unpacked.'),
  mimetype: z.string().default('application/octet-stream').describe('Media type that the server reports.'),
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
  virtual_size: size.optional().describe('Size of the disk in the image.'),
});

const mapping = z.strictObject({
  map: z.array(z.string()).default([]).describe('Where it is on each node, as Proxmox writes it.'),
  options: z.record(z.string(), z.string()).default({}).describe('Further options, such as `description`.'),
});

/** Everything follows from the release unless it is set here. */
const versionDetails = z.strictObject({
  version: z.string().optional().describe('As `/version` says it: 8.4.14.'),
  release: z.string().optional().describe('As `/version` says it: 8.4.'),
  repoid: z.string().optional().describe('As `/version` says it: a build id.'),
  qemu: z.string().optional().describe('Version of QEMU, which pinned machine types name.'),
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
  datacenter: z
    .record(z.string(), z.string())
    .default({})
    .describe('Options of the datacenter, with the keys and values of Proxmox.'),
  nodes: z.record(z.string().regex(/^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?$/), node).describe('Nodes, by name.'),
  storages: z.record(z.string(), storage).default({}).describe('Storages, by name.'),
  guests: z.record(z.string(), guest).default({}).describe('Guest profiles of your own, by name.'),
  vms: z
    .record(z.string().regex(/^[1-9][0-9]{2,8}$/), vm)
    .default({})
    .describe('VMs and templates, by id.'),
  containers: z
    .record(z.string().regex(/^[1-9][0-9]{2,8}$/), container)
    .default({})
    .describe('Containers, by id: they are listed and occupy their ids, and cannot be used.'),
  tasks: z.array(z.string()).default([]).describe('UPIDs of tasks of other clients that run and do not end.'),
  ha: z
    .strictObject({
      resources: z.record(z.string(), z.record(z.string(), z.string())).default({}).describe('Options by service id.'),
      rules: z.record(z.string(), haRule).default({}).describe('Rules of Proxmox VE 9, by name.'),
      groups: z
        .record(z.string(), z.record(z.string(), z.string()))
        .default({})
        .describe('Groups of Proxmox VE 8, by name.'),
    })
    .prefault({})
    .describe('What the HA manager manages.'),
  users: z.record(z.string(), user).default({}).describe('Users, as name@realm.'),
  groups: z
    .record(z.string(), z.strictObject({ comment: z.string().optional().describe('Comment.') }))
    .default({})
    .describe('Groups of users, by name.'),
  roles: z
    .record(z.string(), z.array(z.string()))
    .default({})
    .describe('Privileges of roles besides those of Proxmox, by name.'),
  acl: z.array(acl).default([]).describe('Who may do what.'),
  pools: z
    .record(
      z.string(),
      z.strictObject({
        comment: z.string().optional().describe('Comment.'),
        vms: z.array(z.number().int()).default([]).describe('Ids of its VMs.'),
        storages: z.array(z.string()).default([]).describe('Its storages.'),
      }),
    )
    .default({})
    .describe('Resource pools, by name.'),
  mappings: z
    .strictObject({
      pci: z.record(z.string(), mapping).default({}).describe('PCI devices, by name.'),
      usb: z.record(z.string(), mapping).default({}).describe('USB devices, by name.'),
      dir: z.record(z.string(), mapping).default({}).describe('Directories, by name.'),
    })
    .prefault({})
    .describe('Resource mappings.'),
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
