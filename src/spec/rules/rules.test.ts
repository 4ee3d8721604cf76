import { describe, expect, it } from 'vitest';
import { emptyVmStack, problemsOf, webStack } from '../testing/resolving.ts';

/** Lines of a cloned or an empty VM, and the expected problem: its position within the lines, then its message. */
type Case = readonly [title: string, lines: string, expected: string | null];

const cloned: readonly Case[] = [
  [
    'notes copied from a VM of ours, with its ownership line',
    'description: "the web\\n\\nproxwright: stack=lab address=vm.web vmid=101 uuid=0"',
    '8:18 error BAD_VALUE: "description" contains an ownership line',
  ],
  ['notes that only mention Proxwright', 'description: "proxwright: ask Ada first"', null],
  [
    'a stopped VM that the HA manager would start',
    'power: stopped\nha: {}',
    'error BAD_VALUE: "power" is stopped, but the HA manager would start the VM: "ha.state" is started.',
  ],
  [
    'a running VM that the HA manager would stop',
    'ha: { state: disabled }',
    '8:18 error BAD_VALUE: "power" is running, but the HA manager would stop the VM: "ha.state" is disabled.',
  ],
  ['a stopped VM that the HA manager keeps stopped', 'power: stopped\nha: { state: stopped }', null],
  ['a VM that the HA manager ignores', 'power: stopped\nha: { state: ignored }', null],
  ['a VM that must not be highly available', 'power: stopped\nha: false', null],
  [
    'an address with a number above 255',
    'nics: { net0: { ipv4: { address: 10.0.20.300/24 } } }',
    '8:38 error BAD_VALUE: "10.0.20.300/24" is not an IPv4 address',
  ],
  [
    'a network length that is too long',
    'nics: { net0: { ipv4: { address: 10.0.20.1/33 } } }',
    'is not an IPv4 address with a prefix length',
  ],
  [
    'the address of the network',
    'nics: { net0: { ipv4: { address: 10.0.20.0/24 } } }',
    'it is the address of the network 10.0.20.0/24 itself',
  ],
  [
    'the broadcast address',
    'nics: { net0: { ipv4: { address: 10.0.20.255/24 } } }',
    'it is the broadcast address of 10.0.20.0/24',
  ],
  ['both ends of a network of two', 'nics: { net0: { ipv4: { address: 10.0.20.0/31, gateway: 10.0.20.1 } } }', null],
  ['a loopback address', 'nics: { net0: { ipv4: { address: 127.0.0.1/8 } } }', 'it is a loopback address'],
  [
    'a gateway outside the network',
    'nics: { net0: { ipv4: { address: 10.0.20.5/24, gateway: 10.0.21.1 } } }',
    '8:61 error BAD_VALUE: The gateway "10.0.21.1" cannot work: it is outside the network 10.0.20.0/24.',
  ],
  [
    'a gateway that is the VM',
    'nics: { net0: { ipv4: { address: 10.0.20.5/24, gateway: 10.0.20.5 } } }',
    'it is the address of the VM itself',
  ],
  [
    'a gateway that is the broadcast address',
    'nics: { net0: { ipv4: { address: 10.0.20.5/24, gateway: 10.0.20.255 } } }',
    'it is the broadcast address',
  ],
  [
    'a gateway of the other family',
    'nics: { net0: { ipv4: { address: 10.0.20.5/24, gateway: "fd00::1" } } }',
    'it is an IPv6 address',
  ],
  [
    'a gateway that is not an address',
    'nics: { net0: { ipv4: { address: 10.0.20.5/24, gateway: router } } }',
    'it is not an IP address',
  ],
  [
    'a host route with a gateway elsewhere',
    'nics: { net0: { ipv4: { address: 10.0.20.5/32, gateway: 10.9.9.9 } } }',
    null,
  ],
  ['a link-local gateway of IPv6', 'nics: { net0: { ipv6: { address: "fd00::5/64", gateway: "fe80::1" } } }', null],
  [
    'an IPv6 gateway outside the network',
    'nics: { net0: { ipv6: { address: "fd00::5/64", gateway: "fd01::1" } } }',
    'it is outside the network fd00::/64',
  ],
  ['an IPv4 address under ipv6', 'nics: { net0: { ipv6: { address: 10.0.0.5/24 } } }', 'is not an IPv6 address'],
  ['DHCP', 'nics: { net0: { ipv4: dhcp, ipv6: auto } }', null],
  [
    'a name server by name',
    'cloud_init: { dns: { servers: [9.9.9.9, dns.lab] } }',
    '8:45 error BAD_VALUE: "dns.lab" is not an IP address',
  ],
  ['an MTU too small for IP', 'nics: { net0: { mtu: 500 } }', 'An MTU of 500 is too small for IP'],
  ['the bridge’s MTU', 'nics: { net0: { mtu: 1 } }', null],
  ['a boot device of the template', 'boot: [scsi0, net7]', null],
  [
    'a boot device that is removed',
    'boot: [scsi0, net0]\nnics: { net0: { remove: true } }',
    '8:19 error BAD_VALUE: The boot order names "net0", which this VM removes.',
  ],
  ['a boot device named twice', 'boot: [scsi0, scsi0]', '8:19 error BAD_VALUE: The boot order names "scsi0" twice.'],
  [
    'a removed disk that is described',
    'disks: { scsi1: { remove: true, size: 1GiB } }',
    '8:31 error BAD_VALUE: "scsi1" has remove: true and other settings at the same time (size).',
  ],
  [
    'a CD drive with a size',
    'disks: { ide0: { iso: "local:iso/a.iso", size: 1GiB } }',
    '8:52 error BAD_VALUE: "ide0" is a CD drive, because it holds an ISO; it cannot have "size".',
  ],
  ['an empty CD drive', 'disks: { ide0: { iso: false } }', null],
  ['an SSD on the virtio bus', 'disks: { virtio0: { ssd: true } }', 'Disks on the virtio bus have no "ssd".'],
  ['a thread on the ide bus', 'disks: { ide0: { io_thread: true } }', 'Disks on the ide bus have no "io_thread".'],
  [
    'an import without a storage',
    'disks: { scsi1: { import_from: "local:import/a.qcow2" } }',
    '"scsi1" is imported, but "storage" is not set.',
  ],
  ['growing an inherited disk', 'disks: { scsi0: { size: 100GiB } }', null],
  [
    'a PCI device by mapping and address',
    'pci: { hostpci0: { mapping: gpu, device: "01:00.0" } }',
    '"mapping" and "device" cannot be used together; "pci.hostpci0" has both.',
  ],
  ['options of an inherited PCI device', 'pci: { hostpci0: { rom_bar: false } }', null],
  [
    'an EFI disk with SeaBIOS',
    'bios: seabios\nefi: { storage: tank }',
    '9:10 error BAD_VALUE: An EFI disk needs the OVMF firmware; this VM has SeaBIOS. | Write bios: ovmf, or remove "efi".',
  ],
  ['an EFI disk whose firmware is the template’s', 'efi: { storage: tank }', null],
  [
    'PCI Express on the wrong machine',
    'machine: pc\npci: { hostpci0: { mapping: gpu, pcie: true } }',
    'PCI Express needs the machine type q35; this VM has pc.',
  ],
  ['PCI Express on a machine of the template', 'pci: { hostpci0: { mapping: gpu, pcie: true } }', null],
  ['cloud-init on a drive of the template', 'cloud_init: { user: me }\nnics: { net0: { ipv4: dhcp } }', null],
  [
    'a cloud-init drive on a disk',
    'cloud_init: { storage: tank }\ndisks: { ide2: { iso: "local:iso/a.iso" } }',
    'both use the slot "ide2"',
  ],
  [
    'a balloon larger than the memory',
    'memory: 1GiB\nballoon: 2GiB',
    '9:14 error BAD_VALUE: "balloon" is the minimum memory of the guest; 2GiB is more than "memory", 1GiB.',
  ],
  [
    'more virtual CPUs than cores',
    'cpu: { cores: 2, sockets: 1, vcpus: 3 }',
    '3 virtual CPUs do not fit into 1 socket(s) of 2 core(s).',
  ],
  ['virtual CPUs within the template’s sockets', 'cpu: { cores: 2, vcpus: 3 }', null],
  [
    'waiting for an agent that is off',
    'agent: { enabled: false }\nready: { pings: 3 }',
    '9:21 error BAD_VALUE: The guest agent is turned off',
  ],
  [
    'a cloud-init guest without its agent',
    'guest: cloud-init\nagent: { enabled: false }',
    'because guest is cloud-init',
  ],
  [
    'a cloud-init guest without readiness checks',
    'guest: cloud-init\nagent: { enabled: false }\nready: { agent: false }',
    null,
  ],
  ['readiness of a stopped VM', 'power: stopped\nready: { pings: 3 }', 'warning BAD_VALUE: The VM stays stopped'],
  ['a raw key that has a field', 'extra: { memory: 1024 }', '"memory" has its own field'],
  ['a raw key of the identity', 'extra: { smbios1: x }', 'is part of the VM’s identity'],
  ['a raw key that is a request parameter', 'extra: { skiplock: 1 }', 'is not a setting of a VM’s configuration'],
  ['a raw key', 'extra: { reboot: 0 }', null],
  ['a tag with a blank', 'tags: [a, "b c"]', '"tags.1" is "b c": a tag has letters'],
  ['a malformed PCI address', 'pci: { hostpci0: { device: "1:0" } }', 'a PCI address looks like 0000:01:00'],
  [
    'a VLAN out of range',
    'nics: { net0: { vlan: 4095 } }',
    '8:27 error BAD_VALUE: "nics.net0.vlan" must be at most 4094; it is 4095.',
  ],
];

const empty: readonly Case[] = [
  [
    'a boot device that the VM will not have',
    'boot: [scsi0]',
    '8:12 error BAD_VALUE: The boot order names "scsi0", which this VM will not have.',
  ],
  [
    'a boot device that the VM will have',
    'boot: [scsi0, ide2, net0]\ndisks: { scsi0: { storage: tank, size: 1GiB } }\ncloud_init: { storage: tank }\nnics: { net0: { bridge: vmbr0 } }',
    null,
  ],
  [
    'a disk without a storage',
    'disks: { scsi0: { size: 1GiB } }',
    '"scsi0" would be new, because the VM is not cloned, but the file does not say on which storage it is.',
  ],
  ['a disk without a size', 'disks: { scsi0: { storage: tank } }', 'does not say how large it is'],
  ['a PCI slot without a device', 'pci: { hostpci0: { rom_bar: false } }', '"pci.hostpci0" does not name a device.'],
  ['an EFI disk without firmware', 'efi: { storage: tank }', 'this VM has SeaBIOS, the server’s default'],
  [
    'OVMF without an EFI disk',
    'bios: ovmf',
    '8:11 warning BAD_VALUE: With OVMF and no EFI disk, the VM loses its boot entries',
  ],
  [
    'PCI Express on the default machine',
    'pci: { hostpci0: { mapping: gpu, pcie: true } }',
    'this VM has pc, the server’s default',
  ],
  [
    'cloud-init without a drive',
    'cloud_init: { user: me }',
    '8:25 error BAD_VALUE: The guest gets this from a cloud-init drive, and this VM has none',
  ],
  [
    'custom cloud-init data for an empty VM',
    'cloud_init: { user_data: { file: user.yaml } }\nnics: { net0: { bridge: vmbr0, ipv4: dhcp } }',
    'and cloud_init.storage is not set',
  ],
  [
    'an address without a drive',
    'nics: { net0: { bridge: vmbr0, ipv4: { address: 10.0.0.5/24 } } }',
    'and this VM has none',
  ],
  [
    'an expected address of Talos',
    'guest: talos\nnics: { net0: { bridge: vmbr0, ipv4: { address: 10.0.0.5/24 } } }',
    null,
  ],
  ['a card without a bridge', 'nics: { net0: { vlan: 5 } }', 'warning BAD_VALUE: "net0" has no bridge'],
];

describe('the rules for a cloned VM', () => {
  it.each(cloned)('checks %s', (_, lines, expected) => {
    expect(problemsOf(webStack(lines))).toEqual(expected === null ? [] : [expect.stringContaining(expected)]);
  });
});

describe('the rules for a VM that is created empty', () => {
  it.each(empty)('checks %s', (_, lines, expected) => {
    expect(problemsOf(emptyVmStack(lines))).toEqual(expected === null ? [] : [expect.stringContaining(expected)]);
  });
});

describe('the rule of linked clones', () => {
  it('refuses a storage and a format', () => {
    const text = webStack('memory: 1GiB').replace(
      '{ template: debian }',
      '{ template: debian, mode: linked, storage: tank, format: raw }',
    );
    expect(problemsOf(text)).toEqual([
      expect.stringContaining('7:55 error BAD_VALUE: A linked clone takes no "storage"'),
      expect.stringContaining('7:69 error BAD_VALUE: A linked clone takes no "format"'),
    ]);
  });
});

describe('the rules on unique values', () => {
  const two = (first: string, second: string) => `version: 1
stack: s
defaults: { node: pve1, clone: { template: 9000 } }
vms:
  a: { ${first} }
  b: { ${second} }
outputs: { talos: { vip: 10.0.0.9 } }
`;
  const nic = (settings: string) => `nics: { net0: { ${settings} } }`;

  it.each([
    ['a name', 'name: Web', 'name: web', '6:14 error BAD_VALUE: The name "web" is given to both vm.a and vm.b.'],
    [
      'an id',
      'name: a, vmid: 101',
      'name: b, vmid: 101',
      '6:23 error BAD_VALUE: The ID 101 is given to both vm.a and vm.b.',
    ],
    [
      'the template’s id',
      'name: a, vmid: 9000',
      'name: b',
      '5:23 error BAD_VALUE: The ID 9000 belongs to the template that is cloned.',
    ],
    [
      'a MAC address',
      `name: a, ${nic('mac: "bc:24:11:00:00:0a"')}`,
      `name: b, ${nic('mac: "BC:24:11:00:00:0A"')}`,
      'The MAC address BC:24:11:00:00:0A is given to both',
    ],
    [
      'an address',
      `name: a, ${nic('ipv4: { address: 10.0.0.5/24 }')}`,
      `name: b, ${nic('ipv4: { address: 10.0.0.5/16 }')}`,
      'The address 10.0.0.5 is given to both',
    ],
    [
      'an IPv6 address in two spellings',
      `name: a, ${nic('ipv6: { address: "fd00::5/64" }')}`,
      `name: b, ${nic('ipv6: { address: "FD00:0::0005/64" }')}`,
      'The address fd00::5 is given to both',
    ],
    [
      'the shared address',
      `name: a, ${nic('ipv4: { address: 10.0.0.9/24 }')}`,
      'name: b',
      'The address 10.0.0.9 is the virtual IP of outputs.talos.vip',
    ],
  ])('%s', (_, first, second, expected) => {
    expect(problemsOf(two(first, second))).toEqual([expect.stringContaining(expected)]);
  });

  it('report a line once, even if many members share it', () => {
    expect(problemsOf(two('count: 20, name: web', 'name: b'))).toEqual([
      expect.stringContaining('vm.a[1] and vm.a[2]'),
    ]);
  });

  it('also apply within one VM', () => {
    const nics = 'nics: { net0: { ipv4: { address: 10.0.0.5/24 } }, net1: { ipv4: { address: 10.0.0.5/24 } } }';
    expect(problemsOf(webStack(nics))).toEqual([
      expect.stringContaining('The address 10.0.0.5 is given twice in vm.web.'),
    ]);
  });
});

describe('rules and mistakes in one VM', () => {
  it('are both reported, as long as they do not concern the same field', () => {
    const lines = 'nics: { net0: { vlan: x, ipv4: { address: 10.0.20.0/24 } } }\nboot: [net0, net0]';
    expect(problemsOf(webStack(lines))).toEqual([
      expect.stringContaining('"nics.net0.vlan" must be'),
      expect.stringContaining('it is the address of the network'),
      expect.stringContaining('names "net0" twice'),
    ]);
  });

  it('do not repeat one mistake', () => {
    expect(
      problemsOf(
        webStack('disks: { scsi0: { size: 1GiB, storge: tank } }').replace(
          '    clone: { template: debian }',
          '    power: stopped',
        ),
      ),
    ).toEqual([expect.stringMatching(/UNKNOWN_FIELD: "storge".*Did you mean "storage"/)]);
    expect(
      problemsOf(
        webStack('clon: { template: debian }\npower: running').replace('    clone: { template: debian }\n', ''),
      ),
    ).toEqual([expect.stringMatching(/UNKNOWN_FIELD: "clon".*Did you mean "clone"/)]);
  });
});
