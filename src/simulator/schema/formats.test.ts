import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { API_FACTS } from './api-facts.generated.ts';
import { checkFormat } from './check.ts';
import { ACCEPTED_UNSEEN, isRegisteredFormat } from './formats.ts';
import type { ParamSchema } from './types.ts';

const check = (format: string, text: string) => checkFormat(format, text, 'key', {});

describe('formats', () => {
  it('are registered for every name the API uses', () => {
    const names = new Set<string>();
    const collect = (schema: ParamSchema): void => {
      if (typeof schema.format === 'string') names.add(schema.format.replace(/-(list|opt)$/, ''));
      else if (schema.format !== undefined) for (const inner of Object.values(schema.format)) collect(inner);
      if (schema.items !== undefined) collect(schema.items);
    };
    for (const facts of Object.values(API_FACTS)) for (const schema of Object.values(facts.params)) collect(schema);
    expect([...names].filter((name) => !isRegisteredFormat(name))).toEqual([...ACCEPTED_UNSEEN]);
  });

  it.each([
    ['pve-vmid', '99', 'value does not look like a valid VM ID\n'],
    ['pve-vmid', '1000000000', 'value does not look like a valid VM ID\n'],
    ['pve-node', '-a', 'value does not look like a valid node name\n'],
    ['pve-storage-id', 'x', "storage ID 'x' cannot be shorter than 2 characters\n"],
    ['pve-storage-id', '1ab', "storage ID '1ab' contains illegal characters\n"],
    ['pve-configid', '1ab', "invalid configuration ID '1ab'\n"],
    ['pve-configid-list', 'ab,c', "invalid configuration ID 'c'\n"],
    ['pve-tag-list', 'ok;b$d', 'invalid characters in tag\n'],
    ['pve-bridge-id', 'vm br', "invalid bridge ID 'vm br'\n"],
    ['dns-name', 'a_b', 'value does not look like a valid DNS name\n'],
    ['mac-addr', '01:00:5E:00:00:01', 'value does not look like a valid unicast MAC address\n'],
    ['mac-prefix', '01', 'value is not a valid unicast MAC address prefix\n'],
    ['ipv4', '1.2.3.04', 'value does not look like a valid IPv4 address\n'],
    ['ipv6', '1::2::3', 'value does not look like a valid IPv6 address\n'],
    ['ipv4mask', '255.0.255.0', 'value does not look like a valid IP netmask\n'],
    ['CIDR', '10.0.0.0/7', 'value does not look like a valid CIDR network\n'],
    ['pve-ipv6-config', '::1', 'value does not look like a valid ipv6 network configuration\n'],
    ['address-list', '10.0.0.1,a_b', 'value does not look like a valid address: a_b\n'],
    ['address', '0', 'value does not look like a valid address: 0\n'],
    ['pve-vlan-id-or-range-list', '2-4 7-5', "VLAN range must go from lower to higher tag '7-5'\n"],
    ['email-opt', 'nobody', 'value does not look like a valid email address\n'],
    ['urlencoded', 'a b', 'invalid urlencoded string: a b\n'],
    ['disk-size', '32GB', 'value does not look like a valid disk size: 32GB\n'],
    ['pve-volume-id', 'local', "unable to parse volume ID 'local'\n"],
    ['pve-volume-id-or-qm-path', 'floppy', "unable to parse volume ID 'floppy'\n"],
    ['pve-storage-content-list', 'iso,disk', "invalid content type 'disk'\n"],
    ['pve-dir-override-list', 'iso=a/../b', "invalid override 'iso=a/../b'\n"],
    ['pve-dir-override', 'disk=a', "invalid content type 'disk'\n"],
    [
      'storage-pair-list',
      'a:local',
      "entry 'a:local' contains invalid ID - storage ID 'a' cannot be shorter than 2 characters\n\n\n",
    ],
    ['pve-userid', 'ab', "user name 'ab' is too short\n"],
    ['pve-userid', 'abc', "value 'abc' does not look like a valid user name\n"],
    ['pve-tokenid-list', 'root@pam', "value 'root@pam' does not look like a valid token ID\n"],
    ['pve-poolid', 'a/b/c/d', "pool name 'a/b/c/d' nested too deeply (max levels = 3)\n"],
    ['pve-poolid', 'a b', "pool name 'a b' contains invalid characters\n"],
    ['pve-priv-list', 'VM.Audit VM.Monitor', "invalid privilege 'VM.Monitor'\n"],
    ['pve-startup-order', '0', 'unable to parse startup options\n'],
    ['pve-hotplug-features', 'disk,cpus', "invalid hotplug feature 'cpus'\n"],
    ['pve-cpuset', '3-1', 'unable to parse cpuset option\n'],
    ['pve-phys-bits', '65', "value must be an integer between 8 and 64 or 'host'\n"],
    ['pve-qm-bootdisk', 'ide4', "invalid boot disk 'ide4'\n"],
    ['pve-qm-bootdev-list', 'scsi0;efidisk0', "invalid boot device 'efidisk0'\n"],
    ['pve-task-status-type-list', 'ok,bad', "invalid status 'bad'\n"],
    ['pve-ha-resource-or-vm-id', 'vm', 'value does not look like a valid ha resource id\n'],
    ['prune-backups', 'keep-all=1,keep-last=3', 'keep-all cannot be set together with other options.\n'],
    ['pve-vm-cpu-conf', 'hidden=1', 'CPU is missing cputype\n'],
    [
      'pve-vm-cpu-conf',
      'host,flags=+avx',
      'VM-specific CPU flags must be a subset of: aes, amd-no-ssb, amd-ssbd, hv-evmcs, hv-tlbflush, ibpb, md-clear, ' +
        'nested-virt, pcid, pdpe1gb, spec-ctrl, ssbd, virt-ssbd\n',
    ],
    [
      'pve-vm-cpu-conf',
      'host,reported-model=max',
      "Property 'reported-model' not allowed in VM-specific CPU config.\n",
    ],
    [
      'pve-storage-zfs-blocksize',
      '3k',
      "value '3k' is not a valid ZFS blocksize. Must be a power of 2 between 512B and 16MiB (e.g., 4k, 8k, 16k, 64k, 1m).\n",
    ],
  ])('%s refuses %j', (format, text, message) => {
    expect(check(format, text)).toBe(message);
  });

  it.each([
    ['pve-vmid', '100'],
    ['pve-tag-list', ' Web;prod,a+b.c_d-e '],
    ['dns-name', 'a-1.B.c'],
    ['mac-addr', 'bc:24:11:aB:00:01'],
    ['ipv6', '::ffff:10.0.0.1'],
    ['ipv6', '1:2:3:4:5:6:7::'],
    ['ipv4mask', '255.255.254.0'],
    ['CIDR', 'fd00::1/64'],
    ['pve-ipv4-config', 'manual'],
    ['pve-vlan-id-or-range', '2-4094'],
    ['email-opt', ''],
    ['disk-size', '1.5GiB'],
    ['pve-volume-id', 'local:100/vm-100-disk-0.qcow2'],
    ['pve-volume-id-or-qm-path', 'none'],
    ['pve-volume-id-or-absolute-path', '/dev/sda'],
    ['storage-pair-list', '1'],
    ['storage-pair-list', 'local:local2,tiny'],
    ['pve-storage-portal-dns-list', '10.0.0.1:3260 [fd00::1]:3260 fd00::1 host.example'],
    ['pve-userid', 'a@pve'],
    ['pve-poolid', 'a/b/c'],
    ['pve-startup-order', 'up=5,3,down=10'],
    ['pve-hotplug-features', '1'],
    ['pve-cpuset', '0,5, 8-11'],
    ['pve-qm-bootdev-list', 'scsi30;net31;usb13;hostpci15'],
    ['pve-qm-ide', 'none,media=cdrom'],
    ['prune-backups', 'keep-all=0,keep-last=3'],
    ['pve-vm-cpu-conf', 'x86-64-v2-AES,flags=+aes;-pcid'],
    ['pve-storage-zfs-blocksize', '16M'],
  ])('%s accepts %j', (format, text) => {
    expect(check(format, text)).toBeUndefined();
  });

  it('accept every address of either family', () => {
    fc.assert(fc.property(fc.ipV4(), (address) => check('ipv4', address) === undefined));
    fc.assert(fc.property(fc.ipV6(), (address) => check('ipv6', address) === undefined));
    fc.assert(fc.property(fc.ipV6(), (address) => check('ipv4', address) !== undefined));
  });
});
