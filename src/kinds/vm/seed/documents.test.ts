import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Secret } from '../../../base/secret.ts';
import { type VmFields, vmFieldsSchema } from '../fields/index.ts';
import { type SeedSource, seedDocuments } from './documents.ts';
import { seedFieldsOf } from './fields.ts';
import { userDataProblem } from './user-data.ts';

const UUID = '6f1a8d2e-0b7c-4a53-9d6e-2f4b8c1e7a90';
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJq0 me@here';
const USER_DATA = '#cloud-config\npackages:\n  - htop # with a comment\n';

function source(fields: object, secrets: SeedSource['secrets'], macs: SeedSource['macs'] = {}): SeedSource {
  const parsed: VmFields = vmFieldsSchema.parse({ name: 'web-1', node: 'pve1', guest: 'cloud-init', ...fields });
  const seed = seedFieldsOf(parsed);
  if (!seed) throw new Error('these fields need no seed');
  return { fields: seed, macs, uuid: UUID, secrets };
}

const OWN = { storage: 'local', user_data: { file: 'user-data.yaml' } };

describe('a seed with custom user-data', () => {
  const documents = seedDocuments(
    source(
      {
        cloud_init: {
          ...OWN,
          user: 'ops',
          password: { env: 'PW' },
          ssh_keys: [`${KEY}\n`],
          dns: { servers: ['9.9.9.9', '2620:fe::fe'], domain: 'lab.example' },
          upgrade: false,
        },
        nics: {
          net1: { ipv6: { address: 'fd00::11/64', gateway: 'fd00::1' } },
          net0: { ipv4: { address: '10.0.20.11/24', gateway: '10.0.20.1' }, ipv6: 'auto' },
          net10: { ipv4: 'dhcp', ipv6: 'dhcp' },
          net2: { bridge: 'vmbr0' },
        },
      },
      { user_data: new Secret(USER_DATA), password: new Secret('$6$salt$hashed') },
      { net0: 'BC:24:11:00:00:01', net1: 'BC:24:11:00:00:02', net2: 'BC:24:11:00:00:03', net10: '12:34:56:10:20:30' },
    ),
  );

  it('contains it unchanged', () => {
    expect(documents['user-data']).toBe(USER_DATA);
  });

  it('has the settings of the fields as vendor-data', () => {
    expect(documents['vendor-data']).toBe(
      [
        '#cloud-config',
        'manage_etc_hosts: true',
        'user: "ops"',
        'users:',
        '  - "default"',
        'password: "$6$salt$hashed"',
        'ssh_authorized_keys:',
        `  - "${KEY}"`,
        'chpasswd:',
        '  expire: false',
        'package_upgrade: false',
        '',
      ].join('\n'),
    );
  });

  it('has the addresses of each NIC by its MAC address', () => {
    expect(documents['network-config']).toBe(
      [
        'version: 1',
        'config:',
        '  - type: "physical"',
        '    name: "eth0"',
        '    mac_address: "bc:24:11:00:00:01"',
        '    subnets:',
        '      - type: "static"',
        '        address: "10.0.20.11/24"',
        '        gateway: "10.0.20.1"',
        '      - type: "ipv6_slaac"',
        '  - type: "physical"',
        '    name: "eth1"',
        '    mac_address: "bc:24:11:00:00:02"',
        '    subnets:',
        '      - type: "static6"',
        '        address: "fd00::11/64"',
        '        gateway: "fd00::1"',
        '  - type: "physical"',
        '    name: "eth10"',
        '    mac_address: "12:34:56:10:20:30"',
        '    subnets:',
        '      - type: "dhcp4"',
        '      - type: "dhcp6"',
        '  - type: "nameserver"',
        '    address:',
        '      - "9.9.9.9"',
        '      - "2620:fe::fe"',
        '    search:',
        '      - "lab.example"',
        '',
      ].join('\n'),
    );
  });

  it('has the host name in its meta-data, and an instance id', () => {
    expect(documents['meta-data']).toBe(
      'instance-id: "INSTANCE"\nlocal-hostname: "web-1.lab.example"\n'.replace('INSTANCE', instanceId(documents)),
    );
    expect(instanceId(documents)).toMatch(/^[0-9a-f]{40}$/);
  });
});

function instanceId(documents: ReturnType<typeof seedDocuments>): string {
  return (parse(documents['meta-data'] ?? '') as { 'instance-id': string })['instance-id'];
}

describe('the instance id', () => {
  const secrets = { user_data: new Secret(USER_DATA) };
  const idOf = (fields: object, given: SeedSource['secrets'] = secrets, uuid = UUID) =>
    instanceId(seedDocuments({ ...source(fields, given), uuid }));

  it('is the same while nothing changes', () => {
    expect(idOf({ cloud_init: OWN })).toBe(idOf({ cloud_init: OWN }));
  });

  it.each([
    ['user data', { cloud_init: OWN }, { user_data: new Secret(`${USER_DATA}\n`) }, UUID],
    ['a field', { cloud_init: { ...OWN, user: 'me' } }, secrets, UUID],
    ['the host name', { name: 'web-2', cloud_init: OWN }, secrets, UUID],
    ['another VM', { cloud_init: OWN }, secrets, '00000000-0000-4000-8000-000000000000'],
  ])('changes with %s', (_what, fields, given, uuid) => {
    expect(idOf(fields, given, uuid)).not.toBe(idOf({ cloud_init: OWN }));
  });
});

describe('a seed', () => {
  it('without addresses leaves the network to cloud-init', () => {
    const documents = seedDocuments(
      source({ cloud_init: OWN, nics: { net0: { bridge: 'vmbr0' } } }, { user_data: new Secret(USER_DATA) }),
    );
    expect(Object.keys(documents).sort()).toEqual(['meta-data', 'user-data', 'vendor-data']);
  });

  it('with name servers only still uses DHCP on the first NIC', () => {
    const documents = seedDocuments(
      source(
        { cloud_init: { ...OWN, dns: { servers: ['9.9.9.9'] } }, nics: { net1: {}, net0: {} } },
        { user_data: new Secret(USER_DATA) },
        { net0: 'BC:24:11:00:00:01', net1: 'BC:24:11:00:00:02' },
      ),
    );
    expect(parse(documents['network-config'] ?? '')).toEqual({
      version: 1,
      config: [
        { type: 'physical', name: 'eth0', mac_address: 'bc:24:11:00:00:01', subnets: [{ type: 'dhcp4' }] },
        { type: 'nameserver', address: ['9.9.9.9'] },
      ],
    });
  });

  it('leaves out NICs that are removed', () => {
    const documents = seedDocuments(
      source({ cloud_init: OWN, nics: { net0: { ipv4: 'dhcp', remove: true } } }, { user_data: new Secret(USER_DATA) }),
    );
    expect(documents['network-config']).toBeUndefined();
  });

  it('cannot be created while a NIC has no MAC address', () => {
    const given = source({ cloud_init: OWN, nics: { net0: { ipv4: 'dhcp' } } }, { user_data: new Secret(USER_DATA) });
    expect(() => seedDocuments(given)).toThrow('net0 has no MAC address yet');
  });

  it('with a custom network configuration writes user-data as Proxmox would', () => {
    const documents = seedDocuments(
      source(
        {
          cloud_init: { storage: 'local', network_data: { text: 'version: 2\n' }, user: 'root', ssh_keys: [KEY] },
          nics: { net0: { ipv4: 'dhcp' } },
        },
        { network_data: new Secret('version: 2\n') },
      ),
    );
    expect(documents['network-config']).toBe('version: 2\n');
    expect(documents['vendor-data']).toBeUndefined();
    expect(documents['user-data']).toBe(
      [
        '#cloud-config',
        'manage_etc_hosts: true',
        'user: "root"',
        'disable_root: false',
        'ssh_authorized_keys:',
        `  - "${KEY}"`,
        'chpasswd:',
        '  expire: false',
        'package_upgrade: true',
        '',
      ].join('\n'),
    );
  });

  it('contains custom meta-data unchanged', () => {
    const documents = seedDocuments(
      source(
        { cloud_init: { storage: 'local', meta_data: { text: 'instance-id: mine' } } },
        { meta_data: new Secret('instance-id: mine') },
      ),
    );
    expect(documents['meta-data']).toBe('instance-id: mine');
  });

  it('never holds the password itself', () => {
    const documents = seedDocuments(
      source(
        { cloud_init: { ...OWN, password: { env: 'PW' } } },
        { user_data: new Secret(USER_DATA), password: new Secret('correct horse') },
      ),
    );
    expect(JSON.stringify(documents)).not.toContain('correct horse');
    expect(parse(documents['vendor-data'] ?? '')).toMatchObject({ password: expect.stringMatching(/^\$6\$/) });
  });
});

describe('a seed for Talos', () => {
  const MACHINE = 'version: v1alpha1\nmachine: { type: worker }\n';

  it('has the machine configuration, the addresses and the host name, and no accounts', () => {
    const documents = seedDocuments(
      source(
        { guest: 'talos', cloud_init: OWN, nics: { net0: { ipv4: { address: '10.0.20.11/24' } } } },
        { user_data: new Secret(MACHINE) },
        { net0: 'BC:24:11:00:00:01' },
      ),
    );
    expect(Object.keys(documents).sort()).toEqual(['meta-data', 'network-config', 'user-data']);
    expect(documents['user-data']).toBe(MACHINE);
    expect(parse(documents['meta-data'] ?? '')).toMatchObject({ 'local-hostname': 'web-1', hostname: 'web-1' });
  });

  it('spells DHCPv6 as Talos expects it', () => {
    const documents = seedDocuments(
      source(
        { guest: 'talos', cloud_init: OWN, nics: { net0: { ipv6: 'dhcp' } } },
        { user_data: new Secret(MACHINE) },
        { net0: 'BC:24:11:00:00:01' },
      ),
    );
    expect(documents['network-config']).toContain('- type: "ipv6_dhcpv6-stateful"');
  });

  it('has a network configuration even without addresses, because Talos requires one', () => {
    const documents = seedDocuments(source({ guest: 'talos', cloud_init: OWN }, { user_data: new Secret(MACHINE) }));
    expect(parse(documents['network-config'] ?? '')).toEqual({ version: 1, config: [] });
  });

  it('without a machine configuration says that there is none', () => {
    const documents = seedDocuments(
      source(
        { guest: 'talos', cloud_init: { storage: 'local', meta_data: { text: 'x: 1' } } },
        { meta_data: new Secret('x: 1') },
      ),
    );
    expect(documents['user-data']).toBe('#cloud-config\n');
  });
});

describe('user-data that its guest would ignore', () => {
  it.each([
    ['talos', '#cloud-config\nusers: []\n', 'machine configuration'],
    ['cloud-init', 'packages: [htop]\n', 'first line'],
  ] as const)('is noticed: %s', (guest, text, words) => {
    expect(userDataProblem(guest, text)).toContain(words);
  });

  it.each([
    ['talos', 'version: v1alpha1\n'],
    ['talos', '# a comment\n#cloud-config\n'],
    ['cloud-init', '#cloud-config\n'],
    ['cloud-init', '#!/bin/sh\n'],
    ['cloud-init', '## template: jinja\n#cloud-config\n'],
    ['cloud-init', 'Content-Type: multipart/mixed; boundary="x"\n'],
    ['plain', 'anything'],
  ] as const)('is not reported otherwise: %s, %j', (guest, text) => {
    expect(userDataProblem(guest, text)).toBeUndefined();
  });
});
