import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { dumpCloudInit } from './cloudinit.ts';

const NIC = 'virtio=BC:24:11:AA:BB:CC,bridge=vmbr0';
const dump = (config: Readonly<Record<string, string>>, type: 'user' | 'network' | 'meta', masked = false) =>
  dumpCloudInit(new Map(Object.entries(config)), 501, type, masked);

describe('user data', () => {
  it('takes host name and domain from a dotted name', () => {
    expect(dump({ name: 'web.example.com', searchdomain: 'ignored' }, 'user')).toContain(
      'hostname: web\nmanage_etc_hosts: true\nfqdn: web.example.com\n',
    );
    expect(dump({}, 'user')).toContain('hostname: VM501\nmanage_etc_hosts: true\nfqdn: VM501\n');
  });

  it('lists the decoded SSH keys without blank lines', () => {
    const keys = encodeURIComponent('ssh-ed25519 AAAA one\n\nssh-ed25519 BBBB two\n');
    expect(dump({ sshkeys: keys }, 'user')).toContain(
      'ssh_authorized_keys:\n  - ssh-ed25519 AAAA one\n  - ssh-ed25519 BBBB two\nchpasswd:\n',
    );
  });

  it('enables root and omits the default user if the user is root', () => {
    const text = dump({ ciuser: 'root' }, 'user');
    expect(text).toContain('user: root\ndisable_root: False\n');
    expect(text).not.toContain('users:');
  });

  it('upgrades packages unless disabled', () => {
    expect(dump({}, 'user')).toMatch(/package_upgrade: true\n$/);
    expect(dump({ ciupgrade: '0' }, 'user')).not.toContain('package_upgrade');
  });

  it('shows the password only to users who may change it, and hashes the real one into the instance id', () => {
    expect(dump({ cipassword: '$5$salt$hash' }, 'user')).toContain('password: $5$salt$hash\n');
    expect(dump({ cipassword: '$5$salt$hash' }, 'user', true)).toContain('password: **********\n');
    expect(dump({ cipassword: 'a' }, 'meta', true)).not.toBe(dump({ cipassword: 'b' }, 'meta', true));
  });
});

describe('network configuration', () => {
  it('has static addresses with netmask and gateway, and omits cards without an ipconfig', () => {
    const config = { net0: NIC, ipconfig0: 'ip=10.0.0.5/23,gw=10.0.0.1,ip6=fd00::5/64', net1: NIC };
    expect(dump(config, 'network')).toBe(
      "version: 1\nconfig:\n    - type: physical\n      name: eth0\n      mac_address: 'bc:24:11:aa:bb:cc'\n" +
        "      subnets:\n      - type: static\n        address: '10.0.0.5'\n        netmask: '255.255.254.0'\n" +
        "        gateway: '10.0.0.1'\n      - type: static6\n        address: 'fd00::5/64'\n    - type: nameserver\n",
    );
  });

  it('is an interfaces file on a config drive, which Windows always gets', () => {
    const config = { ostype: 'win11', net0: NIC, ipconfig0: 'ip=10.0.0.5/24,ip6=auto', nameserver: '1.1.1.1 9.9.9.9' };
    expect(dump(config, 'network')).toBe(
      'auto lo\niface lo inet loopback\n\n        dns_nameservers 1.1.1.1 9.9.9.9\nauto eth0\niface eth0 inet static\n' +
        '        address 10.0.0.5\n        netmask 255.255.255.0\niface eth0 inet6 auto\n',
    );
  });
});

describe('the instance id', () => {
  it('is the hash of user data and network configuration', () => {
    const config = { name: 'web', net0: NIC, ipconfig0: 'ip=dhcp' };
    const hash = createHash('sha1')
      .update(`${dump(config, 'user')}${dump(config, 'network')}`)
      .digest('hex');
    expect(dump(config, 'meta')).toBe(`instance-id: ${hash}\n`);
    expect(dump({ ...config, citype: 'configdrive2' }, 'meta')).toMatch(/^\{\n {5}"uuid": "[0-9a-f]{40}",\n/);
  });
});
