/**
 * The parts of a mapping. One table for each resource of another provider says where its attributes go. It drives
 * `convert`, tells the provider which resources a `moved` block may name, and is printed in the migration guide.
 */

/** How a value is written on our side. */
export type Conversion =
  | 'same'
  /** A number of them becomes text with a unit: `20` → `"20GiB"`. */
  | 'GiB'
  | 'MiB'
  | 'seconds'
  | 'milliseconds'
  /** `0` switches ballooning off: `"none"`. */
  | 'balloon'
  /** 0 is no id. */
  | 'vmid'
  /** `"on"` → `true`. */
  | 'on'
  /** `1` → `true`. */
  | 'number-flag'
  /** A boolean, which an earlier release wrote as a number or as a word: `1` or `"on"` → `true`. */
  | 'flag'
  /** Numbers below 1 are no VLAN; an earlier release had -1 by default. */
  | 'vlan'
  /** `true` → `"running"`. */
  | 'power'
  /** `"enabled"` → `"started"`; empty: not under HA. */
  | 'ha-state'
  /** An empty text is none. */
  | 'not-empty'
  /** `true` → `"full"`. */
  | 'clone-mode'
  /** `true` → `"when_needed"`. */
  | 'restart'
  /** A number becomes text: `9000` → `"9000"`. */
  | 'text'
  /** `"network,disk"` → `["network", "disk"]`; `"0"` → `[]`. */
  | 'comma-list'
  | 'tag-list'
  /** `"10;20"` → `[10, 20]`. */
  | 'vlan-list'
  /** `"0-7;16-31"` → `["0-7", "16-31"]`. */
  | 'semicolon-list'
  /** Lines → a list of them. */
  | 'lines'
  /** `"a b"` → `["a", "b"]`. */
  | 'words'
  /** One value → a list with it. */
  | 'one'
  /** A volume of an ISO image, or an empty drive. */
  | 'iso'
  /** `"2"` → `"2MiB"`. */
  | 'hugepages'
  /** `"q35,viommu=virtio"`: the type, and its options elsewhere. */
  | 'machine'
  /** `"order=scsi0;net0"` → `["scsi0", "net0"]`. */
  | 'boot-order'
  /** The one disk to boot from, where no order says it. */
  | 'boot-disk'
  /** `"ip=…,gw=…"` → `ipv4` and `ipv6` of a network card. */
  | 'ipconfig'
  /** A snippet: its content where this configuration has it, otherwise the volume. */
  | 'snippet'
  /** `"user=local:snippets/a.yaml"`. */
  | 'cicustom'
  /** `"32G"`, or a number of GiB. */
  | 'size'
  /** A password is never in a state: `password_wo`. */
  | 'password'
  /** The kind of guest: only `cloud-init` has a counterpart. */
  | 'guest'
  /** The raw device of a port, or `spice`. */
  | 'usb-host'
  | 'template-flag'
  /** A list of nodes → the one where the VM is. */
  | 'one-node'
  /** `"on"` → an entry `"+aes"` of a list. */
  | 'cpu-flag'
  /** The attribute is named by the algorithm. */
  | 'checksum'
  /** Without `/api2/json`. */
  | 'api-url'
  /** The id and the secret of a token are one value. */
  | 'token-id';

export interface AttributeRow {
  readonly from: string;
  /** Dotted, inside the element of a collection relative to it. Absent: there is no counterpart. */
  readonly to?: string;
  readonly as?: Conversion;
  /** A sibling setting that includes this one if it is true. */
  readonly includedIn?: string;
  /** Why it is no longer needed. It is dropped, and the report says so. */
  readonly drop?: string;
  /** Cannot be expressed: why, and the nearest way. It stays as a comment. */
  readonly cannot?: string;
  /** For the table in the guide, instead of `to`. */
  readonly doc?: string;
}

export interface BlockRow {
  readonly block: string;
  readonly rows: readonly Row[];
  /** Blocks that become entries of a map, and what their slot is. */
  readonly collection?: Collection;
  /** Of an attribute whose name is a slot: `disks { scsi { scsi0 { … } } }`. */
  readonly doc?: string;
  readonly cannot?: string;
  readonly drop?: string;
  /** Why a block with nothing in it is dropped. */
  readonly dropEmpty?: string;
  /** The default of an entry. */
  readonly byDefault?: { readonly to: string; readonly text: string };
  /** The defaults of the former provider that Proxmox does not have. */
  readonly defaults?: Readonly<Record<string, string>>;
  /** The block must have one of these to be translated; otherwise this message applies. */
  readonly needs?: { readonly to: readonly string[]; readonly why: string };
  /** The target if it is a text, as in an earlier release, and not a block. */
  readonly text?: string;
  /** Its attribute `type` says whether it is a disk, a CD drive or the drive of cloud-init: how each is translated. */
  readonly drives?: Readonly<Record<string, BlockRow>>;
}

export interface Collection {
  readonly to: string;
  readonly key:
    | {
        readonly attribute: string;
        readonly prefix?: string;
        readonly byDefault?: string;
        /** The attribute with the bus, where the slot is only a number or left out. */
        readonly bus?: string;
      }
    | { readonly position: string };
  /** The attribute that is the whole entry, with its value if the block leaves it out. */
  readonly scalar?: { readonly attribute: string; readonly byDefault: string };
}

export type Row = AttributeRow | BlockRow;

/** What another resource may read of one: `vm_id`, `network_device[0].mac_address`. `#` is any index. */
export interface ReferenceRow {
  readonly from: string;
  /** `#` is the number that `from` has in the same place, `#-1` one less. Absent: it has no counterpart. */
  readonly to?: string;
  /** What to check, because the value is not quite the same. */
  readonly review?: string;
  /** The source has a list, and ours is a map by slot. */
  readonly isMap?: true;
}

export interface SourceResource {
  readonly provider: 'bpg' | 'telmate';
  readonly types: readonly string[];
  readonly to: 'proxwright_vm' | 'proxwright_image';
  /** Attributes of its state that hold the id of a VM. */
  readonly vmidFrom: readonly string[];
  /** Where its state holds the cloud-init password: names, and positions in lists. */
  readonly passwordFrom?: readonly (string | number)[];
  readonly rows: readonly Row[];
  readonly references: readonly ReferenceRow[];
}

export function isBlockRow(row: Row): row is BlockRow {
  return 'block' in row;
}
