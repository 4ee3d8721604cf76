/** Messages about texts that Proxmox would refuse or change, and about words of other tools. */
import { describe, expect, it } from 'vitest';
import { problemsOf, webStack } from '../testing/resolving.ts';

const TEXTS: readonly (readonly [string, string, string])[] = [
  ['a raw key that Proxmox does not have', 'extra: { hookscrpt: x }', 'has no configuration key "hookscrpt".'],
  ['a raw key on several lines', 'extra: { args: "-a\\n-b" }', '"extra.args" is "-a\\n-b": it must be a single line'],
  ['a user on two lines', 'cloud_init: { user: "a\\nb" }', 'it must be a single line'],
  [
    'a MAC address with dashes',
    'nics: { net0: { mac: BC-24-11-00-00-01 } }',
    'six pairs of hexadecimal digits with colons',
  ],
  [
    'a multicast MAC address',
    'nics: { net0: { mac: "01:24:11:00:00:01" } }',
    'multicast address; make the second digit even, for example 00:24:11:00:00:01',
  ],
  ['an invisible character', 'tags: ["a\\u200b"]', '"tags.0" is "a\\u200b": a tag has'],
];

describe('a text that Proxmox would refuse', () => {
  it.each(TEXTS)('is refused with an explanation: %s', (_, lines, expected) => {
    expect(problemsOf(webStack(lines))).toEqual([expect.stringContaining(expected)]);
  });
});

describe('a word of another tool points to ours', () => {
  it.each([
    ['node_name: pve1', 'node'],
    ['target_node: pve1', 'node'],
    ['vm_id: 101', 'vmid'],
    ['initialization: {}', 'cloud_init'],
    ['full_clone: true', 'clone.mode'],
    ['scsihw: virtio-scsi-single', 'scsi_controller'],
    ['scsi_hardware: virtio-scsi-single', 'scsi_controller'],
    ['network_device: []', 'nics.net0'],
    ['net1: virtio', 'nics.net1'],
    ['ipconfig0: ip=dhcp', 'nics.net0.ipv4'],
    ['ciuser: me', 'cloud_init.user'],
    ['sshkeys: x', 'cloud_init.ssh_keys'],
    ['onboot: true', 'on_boot'],
    ['ostype: l26', 'os_type'],
    ['started: false', 'power'],
    ['efidisk0: x', 'efi'],
    ['hostpci0: x', 'pci.hostpci0'],
    ['scsi1: x', 'disks.scsi1'],
    ['nics: { net1: { vlan_id: 5 } }', 'nics.net1.vlan'],
    ['disks: { scsi1: { datastore_id: tank } }', 'disks.scsi1.storage'],
    ['cloud_init: { user_account: {} }', 'cloud_init.user'],
  ])('%s', (lines, field) => {
    expect(problemsOf(webStack(lines)).filter((each) => each.includes('UNKNOWN_FIELD'))).toEqual([
      expect.stringContaining(`is called ${field} here.`),
    ]);
  });

  it('still recognises a mistyped field', () => {
    expect(problemsOf(webStack('memmory: 1GiB'))).toEqual([expect.stringContaining('Did you mean "memory"?')]);
  });
});

describe('a value of the wrong kind leads to a hint with the right form', () => {
  it.each([
    ['cpu: 4', 'Its fields are cores, sockets,'],
    ['boot: scsi0', 'Write boot: [scsi0].'],
    ['tags: web', 'Write tags: [web].'],
    ['disks: [{ size: 1GiB }]', 'Its fields begin with a slot: disks: { scsi0: … }'],
    ['disks: { scsi0: 20GiB }', 'Its fields are size, storage,'],
  ])('%s', (lines, expected) => {
    expect(problemsOf(webStack(lines)).join()).toContain(expected);
  });
});
