import { describe, expect, it } from 'vitest';
import { problemsOf, webStack } from '../testing/resolving.ts';

/** Lines of a cloned VM, and the expected problem. */
const CASES: readonly (readonly [title: string, lines: string, expected: string | null])[] = [
  ['a raw key whose field came later', 'extra: { kvm: 0 }', 'warning BAD_VALUE: "kvm" now has its own field'],
  [
    'a raw key together with its field',
    'kvm: true\nextra: { kvm: 0 }',
    'error BAD_VALUE: "kvm" is set twice: here, and by "kvm"',
  ],
  [
    'a raw key together with a field of its slot',
    'virtiofs: { virtiofs0: { mapping: a } }\nextra: { virtiofs0: b }',
    'error BAD_VALUE: "virtiofs0" is set twice: here, and by "virtiofs.virtiofs0.mapping"',
  ],
  ['another name of a key', 'extra: { cdrom: none }', 'another name of Proxmox for "ide2", which has its own field.'],
  ['a key of snapshots', 'extra: { runningcpu: host }', 'is not a setting of a VM’s configuration'],
  [
    'a limit of both directions together with one of them',
    'disks: { scsi1: { limits: { mbps: 5, read_mbps: 3 } } }',
    '"mbps" limits reads and writes together',
  ],
  ['a burst without a limit', 'disks: { scsi1: { limits: { read_iops_burst: 5 } } }', '"read_iops" is not set'],
  [
    'a burst below its limit',
    'disks: { scsi1: { limits: { write_mbps: 5, write_mbps_burst: 4 } } }',
    'A burst cannot be lower than its limit: "write_mbps" is 5.',
  ],
  [
    'a burst length without a burst',
    'disks: { scsi1: { limits: { iops: 5, iops_burst_length: 2s } } }',
    '"iops_burst" is not set',
  ],
  [
    'limits with bursts',
    'disks: { scsi1: { limits: { read_mbps: 5, read_mbps_burst: 9, read_mbps_burst_length: 2s, iops: 9 } } }',
    null,
  ],
  ['an option that another bus has', 'disks: { virtio1: { wwn: "0x5000c500a0b1c2d3" } }', 'no "wwn"'],
  [
    'an Intel IOMMU of another machine',
    'machine: pc\nmachine_options: { viommu: intel }',
    'needs the machine type q35; this VM has pc.',
  ],
  [
    'address bits that Intel does not have',
    'machine: q35\nmachine_options: { viommu: intel, address_bits: 40 }',
    '39 or 48 address bits, not 40',
  ],
  ['address bits without an IOMMU', 'machine_options: { viommu: false, address_bits: 39 }', 'this VM has none'],
  ['a clipboard without a screen', 'vga: { type: serial0, clipboard: vnc }', '"vga.type" is serial0'],
  ['SMBIOS texts', 'smbios: { serial: "A, 1", product: "ä=;b" }', null],
  [
    'SMBIOS texts that do not fit',
    `smbios: { serial: ${'x'.repeat(400)} }`,
    'Proxmox keeps these texts in 512 characters',
  ],
  [
    'NUMA nodes of a VM without NUMA',
    'cpu: { numa: false }\nnuma_nodes: { numa0: { cpus: ["0"], memory: 1GiB } }',
    '"cpu.numa", which is false',
  ],
  [
    'NUMA nodes with other memory',
    'memory: 4GiB\nnuma_nodes: { numa0: { cpus: ["0"], memory: 1GiB }, numa1: { cpus: ["1-3"], memory: 2GiB } }',
    'have 3GiB together, but "memory" is 4GiB',
  ],
  [
    'a NUMA node of the host without a policy',
    'numa_nodes: { numa0: { cpus: ["0"], memory: 1GiB, host_nodes: ["0"] } }',
    '"host_nodes" needs a policy',
  ],
  [
    'CPUs backwards',
    'numa_nodes: { numa0: { cpus: ["3-0"], memory: 1GiB } }',
    'from the lower number to the higher one',
  ],
  [
    'a shared directory and memory hotplug',
    'hotplug: [memory]\nvirtiofs: { virtiofs0: { mapping: a } }',
    'cannot have memory plugged in',
  ],
  [
    'access control lists for Windows',
    'os_type: win11\nvirtiofs: { virtiofs0: { mapping: a, expose_acl: true } }',
    'Windows cannot mount',
  ],
  ['huge pages without NUMA', 'cpu: { numa: false }\nhugepages: { size: any }', 'huge pages only with "cpu.numa"'],
  ['encryption with SeaBIOS', 'bios: seabios\namd_sev: { type: std }', 'needs the OVMF firmware'],
  [
    'two kinds of encryption',
    'bios: ovmf\namd_sev: { type: std }\nintel_tdx: { type: tdx, attestation: false }',
    'cannot be used together',
  ],
  ['attestation without its service', 'bios: ovmf\nintel_tdx: { type: tdx }', '"vsock_cid" and "vsock_port"'],
  [
    'snippets together with custom user-data',
    'cloud_init: { storage: nfs, user_data: { text: "#cloud-config" }, snippets: { vendor: "nfs:snippets/a" } }',
    'snippets are written to that drive',
  ],
];

describe('the rules for hardware that few VMs need', () => {
  it.each(CASES)('check %s', (_, lines, expected) => {
    const found = problemsOf(webStack(lines));
    if (expected === null) expect(found).toEqual([]);
    else expect(found).toEqual([expect.stringContaining(expected)]);
  });
});
