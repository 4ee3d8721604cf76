/**
 * The data of a simulated cluster, without behaviour. Everything that the API can show or change is here; the handlers
 * in `api/` and the folders they use change it.
 */
import type { Instant } from '../../base/clock.ts';
import type { Seed } from '../guests/seed.ts';
import type { HaState } from '../ha/state.ts';
import type { Disc } from '../storage/files/iso9660.ts';

export interface World {
  readonly version: PveVersion;
  /** Absent on a stand-alone node. */
  readonly clusterName: string | undefined;
  /** The node whose pveproxy answers the API. */
  readonly entryNode: string;
  /** datacenter.cfg, as written. */
  readonly datacenter: Map<string, string>;
  readonly nodes: Map<string, SimNode>;
  readonly storages: Map<string, Storage>;
  /** How often storage.cfg was written, which gives its lists another order each time. */
  storageConfigWrites: number;
  readonly vms: Map<number, Vm>;
  /** Only listed: containers are not simulated. */
  readonly containers: Map<number, Container>;
  readonly access: AccessState;
  readonly pools: Map<string, Pool>;
  readonly mappings: Readonly<Record<MappingKind, Map<string, ResourceMapping>>>;
  readonly ha: HaState;
  readonly tasks: Map<string, TaskRecord>;
  /** What a download would find, by URL. */
  readonly downloads: Map<string, RemoteFile>;
  /** Data of removed storage definitions, by location. */
  readonly leftBehind: Map<string, StorageData>;
  /** The content of a file, by its SHA-256: how an uploaded image gets its guest. */
  readonly contents: Map<string, FileContents>;
}

export interface PveVersion {
  /** Such as `9.2.11`. */
  readonly version: string;
  readonly release: string;
  readonly repoid: string;
  /** Of the QEMU binary; shows in `meta` and in pinned machine types. */
  readonly qemu: string;
  /** Whether QEMU has Proxmox's patches; without them memory cannot be saved and disks in use cannot be mirrored. */
  readonly qemuPatched: boolean;
}

export interface SimNode {
  readonly name: string;
  readonly address: string;
  online: boolean;
  /** When the host was started. */
  readonly bootedAt: Instant;
  readonly cpus: number;
  readonly memoryBytes: number;
  /** What the host itself uses, besides its VMs. */
  readonly hostMemoryBytes: number;
  readonly kvm: boolean;
  /** Whether its kernel can limit the rate of a network card. */
  readonly trafficShaping: boolean;
  readonly bridges: Map<string, Bridge>;
  /** File systems and pools of the node, by name; several storages may share one. */
  readonly filesystems: Map<string, FileSystem>;
  readonly pciDevices: readonly PciDevice[];
  /** Directories besides those that every host and every storage has. */
  readonly directories: readonly string[];
  readonly sslFingerprint: string;
}

export interface Bridge {
  readonly name: string;
  readonly cidr: string | undefined;
  readonly vlanAware: boolean;
  /** Whether a network card of the host is in it; without one it can carry no VLANs unless it is aware of them. */
  readonly physical: boolean;
  readonly active: boolean;
  /** The addresses of a DHCP server, if there is one. */
  readonly dhcp: DhcpServer | undefined;
}

export interface DhcpServer {
  readonly first: string;
  readonly last: string;
  readonly prefix: number;
  /** Addresses that are kept for a card, by its MAC in lower case; they may lie outside the range. */
  readonly reservations?: ReadonlyMap<string, string>;
  /** Whether it answers in every VLAN, not only in the untagged network. */
  readonly anyVlan?: boolean;
}

export interface FileSystem {
  readonly name: string;
  readonly totalBytes: number;
  /** Used by other data than the volumes of this world. */
  readonly foreignBytes: number;
  /** Free for us may be less than total minus used (reserved blocks, quota). */
  readonly reservedBytes: number;
}

export interface PciDevice {
  readonly id: string;
  readonly class: string;
  readonly vendor: string;
  readonly device: string;
  readonly vendorName: string;
  readonly deviceName: string;
  readonly subsystemVendor: string;
  readonly subsystemDevice: string;
  readonly iommuGroup: number;
}

export type StorageType = 'dir' | 'nfs' | 'lvmthin' | 'lvm' | 'zfspool' | 'rbd';
export type ContentType = 'images' | 'rootdir' | 'iso' | 'vztmpl' | 'backup' | 'snippets' | 'import';

export interface Storage {
  readonly id: string;
  readonly type: StorageType;
  readonly content: ReadonlySet<ContentType>;
  readonly shared: boolean;
  readonly disabled: boolean;
  /** Restricted to these nodes; undefined means all. */
  readonly nodes: ReadonlySet<string> | undefined;
  /** Directory of file-based storages, as in storage.cfg. */
  readonly path: string | undefined;
  /** Name of the `FileSystem` that holds it, on every node that has it (for shared storage: on the entry node). */
  readonly filesystem: string;
  /** Shared between the copies running on it. */
  readonly bandwidthBytesPerSecond: number;
  /** Further lines of storage.cfg (`format`, `thinpool`, `pool`, …), shown by GET /storage. */
  readonly options: ReadonlyMap<string, string>;
  /** Volumes by name, per node; shared storages use the key `*`. */
  readonly volumes: Map<string, Map<string, Volume>>;
}

/** The files and volumes of a storage without its definition. */
export type StorageData = Pick<Storage, 'filesystem' | 'volumes'>;

export type VolumeFormat = 'raw' | 'qcow2' | 'vmdk' | 'iso' | 'tgz' | 'snippet' | 'ova' | 'subvol';

export interface Volume {
  readonly storage: string;
  /** The part of the volume id behind the colon: `100/vm-100-disk-0.raw`, `iso/x.iso`, `vm-100-disk-0`. */
  name: string;
  readonly content: ContentType;
  readonly format: VolumeFormat;
  /** Virtual size of images; of other files their length. */
  sizeBytes: number;
  /** Of a file with an image inside (content `import`): the virtual size of that image. */
  readonly virtualSizeBytes?: number;
  /** Allocated on the storage. */
  usedBytes: number;
  /** Data in it, which is what a copy must transfer. */
  dataBytes: number;
  readonly vmid: number | undefined;
  ctime: Instant;
  /** Name of the volume it is a linked clone of. */
  parent: string | undefined;
  readonly snapshots: Map<string, { readonly sizeBytes: number }>;
  /** What boots from it; copied with the data. */
  guest: GuestProfile | undefined;
  /** Of uploaded and downloaded files, by algorithm. */
  readonly checksums?: Checksums;
  /** Of a small uploaded ISO image: what a guest that mounts it finds. */
  readonly disc?: Disc;
}

/** By algorithm: `sha256`, `md5`, … */
export type Checksums = Readonly<Record<string, string>>;
export type Compression = 'gz' | 'bz2' | 'lzo' | 'zst' | 'xz';

export interface RemoteFile {
  /** Of the file as it is served. */
  readonly sizeBytes: number;
  readonly mimetype: string;
  /** Of what is inside, once it is unpacked. */
  readonly format: 'iso' | 'qcow2' | 'raw' | 'vmdk' | 'ova' | 'other';
  readonly compression: Compression | undefined;
  /** Length and checksums of what unpacking gives. */
  readonly unpackedBytes: number | undefined;
  readonly unpackedChecksums: Checksums;
  /** Of the file as it is served. */
  readonly checksums: Checksums;
  readonly virtualSizeBytes: number | undefined;
  readonly guest: GuestProfile | undefined;
  /** HTTP status of the download; anything but 200 fails it. */
  readonly status: number;
  /** Why the download fails: unknown host, connection refused, or a connection that breaks half-way every time. */
  readonly trouble: 'unresolvable' | 'refused' | 'cut' | undefined;
}

export interface FileContents {
  readonly guest: GuestProfile | undefined;
  readonly virtualSizeBytes: number | undefined;
}

/** The behaviour of the operating system on a disk. */
export interface GuestProfile {
  readonly name: string;
  /** From power-on until user space runs; `never` hangs in the boot loader. */
  readonly bootMs: number | 'never';
  /** From user space until the guest agent answers; `none`: not installed; `silent`: installed and hung. */
  readonly agentMs: number | 'none' | 'silent';
  /** What the service manager of the guest says about the agent, which may run without its service: `active` if left out. */
  readonly agentService?: 'active' | 'activating' | 'failed' | 'inactive';
  /** From user space until addresses are configured. */
  readonly networkMs: number;
  /** How long a clean shutdown takes; `ignored`: the guest does not react to the power button. */
  readonly shutdownMs: number | 'ignored';
  /** Whether it reads the cloud-init drive (addresses, host name, user). */
  readonly cloudInit: boolean;
  readonly os: { readonly id: string; readonly name: string; readonly version: string; readonly kernel: string };
  /** TCP ports that answer once the network is up (the Talos API on 50000, for example). */
  readonly ports: readonly number[];
  /** Of an installation medium: what it writes to the first disk, and what happens then. */
  readonly installs?: Installation;
}

export interface Installation {
  /** What boots from the disk afterwards. */
  readonly guest: GuestProfile;
  /** From user space until the system is on the disk. */
  readonly takesMs: number;
  /** Whether it begins only with user data from a NoCloud volume; without them it waits forever. */
  readonly needsSeed: boolean;
  /** Data it writes. */
  readonly dataBytes: number;
  readonly afterwards: 'off' | 'reboot';
}

export interface Container {
  readonly vmid: number;
  readonly node: string;
  readonly name: string;
  readonly running: boolean;
  readonly memoryBytes: number;
  readonly cores: number;
}

export interface Vm {
  readonly vmid: number;
  node: string;
  config: VmConfigFile;
  process: QemuProcess | undefined;
}

/**
 * The configuration file, section by section; values are text exactly as a reader of the file gets them. Handlers change a
 * copy and hand it to `saveConfig`, which writes and re-reads it, because that is where Proxmox's oddities come from.
 */
export interface VmConfigFile {
  readonly current: ReadonlyMap<string, string>;
  /** [PENDING], without its `delete` line. */
  readonly pending: ReadonlyMap<string, string>;
  /** The `delete` line of [PENDING]; true means with the volume (`force`). */
  readonly pendingDeletes: ReadonlyMap<string, boolean>;
  readonly snapshots: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** [special:cloudinit]: what the generated image still holds for keys changed since, and `added` ones. */
  readonly cloudInit: ReadonlyMap<string, string> | undefined;
  /** SHA-1 of the file's text. */
  readonly digest: string;
}

export interface QemuProcess {
  readonly pid: number;
  readonly startedAt: Instant;
  /** QMP run state: running, paused, prelaunch … */
  qmpStatus: string;
  /** The configuration QEMU was started with. */
  readonly launched: ReadonlyMap<string, string>;
  /** When the guest began to boot last (a reset boots it again). */
  guestBootedAt: Instant;
  /** What runs in it; changes when an installer boots what it has installed. */
  guest: GuestProfile | undefined;
  /** The data of a NoCloud volume in one of its CD drives. */
  readonly seed: Seed | undefined;
  /** Processes started in the guest through the agent. */
  readonly executions: Map<number, GuestExecution>;
  agentBusyUntil: Instant;
}

export interface GuestExecution {
  readonly pid: number;
  readonly endsAt: Instant;
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface AccessState {
  readonly users: Map<string, User>;
  readonly groups: Map<string, Group>;
  readonly roles: Map<string, Role>;
  /** Keyed by `user@realm!tokenid`. */
  readonly tokens: Map<string, ApiToken>;
  readonly acl: AclEntry[];
  readonly realms: Map<string, { readonly type: string; readonly comment: string }>;
}

export interface User {
  readonly userid: string;
  enable: boolean;
  /** Epoch seconds, 0 = never. */
  expire: number;
  /** firstname, lastname, email, comment, keys as given. */
  readonly details: Map<string, string>;
  readonly groups: Set<string>;
  password: string | undefined;
}

export interface Group {
  readonly groupid: string;
  comment: string | undefined;
}

export interface Role {
  readonly roleid: string;
  readonly privileges: Set<string>;
  /** Built in: cannot be modified. */
  readonly special: boolean;
}

export interface ApiToken {
  readonly userid: string;
  readonly tokenid: string;
  secret: string;
  privsep: boolean;
  expire: number;
  comment: string | undefined;
}

export interface AclEntry {
  readonly path: string;
  readonly kind: 'user' | 'group' | 'token';
  /** User id, group id or full token id. */
  readonly ugid: string;
  readonly role: string;
  propagate: boolean;
}

export interface Pool {
  readonly poolid: string;
  comment: string | undefined;
  readonly vms: Set<number>;
  readonly storages: Set<string>;
}

export type MappingKind = 'pci' | 'usb' | 'dir';

export interface ResourceMapping {
  readonly id: string;
  /** One property string per node, as given. */
  map: string[];
  readonly options: Map<string, string>;
}

export interface TaskRecord {
  readonly upid: string;
  readonly node: string;
  readonly pid: number;
  readonly pstart: number;
  readonly type: string;
  readonly id: string;
  /** User or full token id that started it. */
  readonly user: string;
  readonly startedAt: Instant;
  /** The id of the VM that a clone creates, which the task's own id does not contain; never shown to clients. */
  target?: number;
  readonly log: string[];
  endedAt: Instant | undefined;
  exitStatus: string | undefined;
  /** When it was filed in the archive of the node. */
  archivedAt: Instant | undefined;
}
