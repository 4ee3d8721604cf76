/** Stacks that begin with nothing: images, templates made from them, and what is cloned from those. */
import { madeUpChecksums, WELL_KNOWN_URLS } from '../../../../src/simulator/index.ts';

const ROLLOUT = `
rollout: { readiness: parallel, limits: { vms: 10, clones_per_node: 3, clones_per_storage: 3 }, timeouts: { ready: 5m, lock: 3m } }
`;

/** Without it, other bytes than those that were asked for go unnoticed. */
export const sumOf = (url: string) => `sha256: "${madeUpChecksums(url).sha256}"`;

/** User-data; it must never appear anywhere but in the guest. */
const MACHINE_CONFIG = 'machine: { install: { disk: /dev/sda } } # let nobody read this';
/** The text that shows a leak. */
export const UNSPEAKABLE = 'let nobody read this';

// biome-ignore lint/suspicious/noTemplateCurlyInString: the stack's own
const VMS = '  web: { count: 2, name: "web-${number}", vmids: 101-109, memory: 3GiB }';

export interface CloudOptions {
  readonly cores?: number;
  readonly url?: string;
  readonly image?: string;
  readonly mode?: 'linked' | 'full';
  readonly template?: string;
  readonly vms?: string;
}

/** An image, a template of it, and two clones. */
export function cloudStack(options: CloudOptions = {}): string {
  const { cores = 2, url = WELL_KNOWN_URLS.ubuntuNoble, image = '', mode = 'linked', template = '' } = options;
  return `
version: 1
stack: lab
images:
  noble: { url: "${url}", file: noble.qcow2, content: import, storage: local${image} }
templates:
  ubuntu:
    vmid: 9000
    node: vmhost
    guest: cloud-init
    agent: { enabled: false }
    cpu: { cores: ${cores} }
    memory: 2GiB
    scsi_controller: virtio-scsi-single
    disks: { scsi0: { image: noble, storage: tank, size: 20GiB } }
    nics: { net0: { model: virtio, bridge: vmbr0 } }
    cloud_init: { storage: tank }
    boot: [scsi0]
${template}
defaults: { node: vmhost, clone: { template: ubuntu, mode: ${mode} } }
vms:
${options.vms ?? VMS}
${ROLLOUT}`;
}

export interface TalosOptions {
  readonly machineConfig?: string;
  readonly userData?: string;
  /** Without it the VMs have Proxmox's own drive, or none. */
  readonly isSeeded?: boolean;
}

/** An ISO that installs itself by a machine config, the template that comes of it, and clones with data of their own. */
export function talosStack(options: TalosOptions = {}): string {
  const { machineConfig = MACHINE_CONFIG, userData = 'machine: { type: worker } # let nobody read this' } = options;
  const seed = options.isSeeded === false ? '' : `, cloud_init: { storage: local, user_data: { text: "${userData}" } }`;
  return `
version: 1
stack: lab
images:
  talos: { url: "${WELL_KNOWN_URLS.talosNoCloudIso}", file: talos.iso, content: iso, storage: local, ${sumOf(WELL_KNOWN_URLS.talosNoCloudIso)} }
templates:
  talos-base:
    vmid: 9000
    node: vmhost
    guest: talos
    memory: 4GiB
    scsi_controller: virtio-scsi-single
    disks: { scsi0: { storage: tank, size: 20GiB }, ide2: { image: talos } }
    cloud_init: { storage: local, slot: ide0, user_data: { text: "${machineConfig}" } }
    nics: { net0: { model: virtio, bridge: vmbr0 } }
    boot: [scsi0, ide2]
    install: { timeout: 30m }
defaults: { node: vmhost, guest: talos, clone: { template: talos-base, mode: full } }
vms:
  cp: { name: cp, vmid: 101, nics: { net0: { ipv4: { address: 10.0.20.31/24, gateway: 10.0.20.1 } } }${seed} }
  worker: { name: worker, vmid: 102${seed} }
${ROLLOUT}`;
}

/** A template on the local storage of each node, made from one image that all of them see, or from one of their own. */
export function clusterStack(cores = 2, storage: 'nfs' | 'local' = 'nfs'): string {
  return `
version: 1
stack: lab
images:
  debian: { url: "${WELL_KNOWN_URLS.debian12}", file: debian.qcow2, content: import, storage: ${storage}, ${sumOf(WELL_KNOWN_URLS.debian12)} }
templates:
  debian:
    nodes: [pve1, pve2, pve3]
    vmids: 9000-9009
    guest: plain
    cpu: { cores: ${cores} }
    memory: 1GiB
    scsi_controller: virtio-scsi-single
    disks: { scsi0: { image: debian, storage: local-lvm, size: 4GiB } }
    nics: { net0: { model: virtio, bridge: vmbr0 } }
    boot: [scsi0]
vms:
  one: { name: one, vmid: 101, node: pve1, clone: { template: debian, mode: linked } }
  two: { name: two, vmid: 102, node: pve2, clone: { template: debian, mode: linked } }
  three: { name: three, vmid: 103, node: pve3, clone: { template: debian, mode: full } }
${ROLLOUT}`;
}
