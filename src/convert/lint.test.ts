/** Each rule, with a configuration that has its trap and sound ones that look like it. */
import { describe, expect, it } from 'vitest';
import { LINT_RULES, lintModules } from './lint.ts';
import { readModules } from './terraform/convert.ts';

const found = (text: string): readonly string[] =>
  lintModules(readModules(new Map([['main.tf', text]]))).map(({ rule, line }) => `${rule} ${line}`);

/** A VM without any trap. */
const bpg = (more = '') => `resource "proxmox_virtual_environment_vm" "web" {
  name      = "web"
  node_name = "pve1"
  migrate   = true
${more}}
`;

const telmate = (more = '') => `resource "proxmox_vm_qemu" "web" {
  name        = "web"
  target_node = "pve1"
${more}}
`;

const CLONE = '  clone = "base"\n  full_clone = true\n';
const DISK = '  disk {\n    slot = "scsi0"\n  }\n';
const NIC = '  network {\n    id = 0\n  }\n';
const BPG_DISK = '  disk {\n    interface = "scsi0"\n  }\n';
const AGENT = '  agent {\n    enabled = true\n  }\n';
const installing = (line: string) => `  initialization {\n    ${line}\n  }\n`;

const TRAPS: Readonly<Record<string, readonly (readonly [text: string, line: number])[]>> = {
  'boot-order': [
    [bpg(`  boot_order = ["scsi1"]\n${BPG_DISK}`), 5],
    [bpg('  network_device {}\n  boot_order = ["net1"]\n'), 6],
    [telmate(`  boot = "order=scsi0;net1"\n${DISK}${NIC}`), 4],
  ],
  'lost-devices': [
    [telmate(`${CLONE}${NIC}`), 4],
    [telmate(`${CLONE}${DISK}`), 4],
  ],
  'nics-by-position': [[bpg('  network_device {}\n  network_device {}\n'), 6]],
  'disks-by-position': [[telmate('  disk {\n    type = "scsi"\n  }\n'), 4]],
  'vmid-zero': [
    [telmate('  vmid = 0\n'), 4],
    [bpg('  vm_id = "0"\n'), 5],
  ],
  'clone-mode': [
    [telmate(`  clone = "base"\n${DISK}${NIC}`), 4],
    [bpg('  clone {\n    vm_id = 9000\n  }\n'), 5],
  ],
  agent: [
    [bpg(AGENT), 5],
    [telmate('  agent = 1\n'), 4],
  ],
  'forces-replacement': [
    [bpg(installing('user_account {}')), 6],
    [bpg(installing('user_data_file_id = "local:snippets/a.yaml"')), 6],
    [bpg('  clone {\n    vm_id = 9000\n    full  = true\n  }\n  tpm_state {}\n'), 9],
  ],
  'node-change': [[bpg().replace('  migrate   = true\n', ''), 3]],
  'vm-monitor': [
    [
      'resource "proxmox_virtual_environment_role" "r" {\n  privileges = [\n    "VM.Audit",\n    "VM.Monitor",\n  ]\n}\n',
      4,
    ],
    ['provider "proxmox" {\n  pm_minimum_permission_list = ["VM.Monitor"]\n}\n', 2],
  ],
  insecure: [
    ['provider "proxmox" {\n  insecure = true\n}\n', 2],
    ['variable "i" { default = true }\nprovider "proxmox" {\n  pm_tls_insecure = var.i\n}\n', 3],
  ],
};

const SOUND: readonly (readonly [what: string, text: string])[] = [
  ['plain VMs', `${bpg()}${telmate()}`],
  ['a boot order of what is there', bpg(`  boot_order = ["scsi0", "net0"]\n${BPG_DISK}  network_device {}\n`)],
  [
    'a boot order behind a slot that a variable names',
    bpg('  boot_order = ["scsi0"]\n  disk {\n    interface = var.slot\n  }\n'),
  ],
  [
    'a boot order of a clone of bpg',
    bpg('  boot_order = ["scsi0"]\n  clone {\n    vm_id = 1\n    full  = true\n  }\n'),
  ],
  [
    'a boot order behind a loop',
    telmate('  boot = "order=scsi3"\n  dynamic "disk" {\n    for_each = []\n    content {}\n  }\n'),
  ],
  [
    'a boot order of nested slots',
    telmate('  boot = "order=scsi0"\n  disks {\n    scsi {\n      scsi0 {\n        disk {}\n      }\n    }\n  }\n'),
  ],
  ['a whole clone', telmate(`${CLONE}${DISK}${NIC}`)],
  ['one card', bpg('  network_device {}\n')],
  ['an id', `${telmate('  vmid = 100\n')}${bpg('  vm_id = var.id\n')}`],
  ['an agent that is off', `${bpg('  agent {\n    enabled = false\n  }\n')}${telmate('  agent = 0\n')}`],
  ['an agent of the template', telmate(`${CLONE}${DISK}${NIC}  agent = 1\n`)],
  ['an agent that user-data installs', `${bpg(AGENT)}# packages: [qemu-guest-agent]\n`],
  [
    'an agent that vendor-data may install',
    bpg(`${AGENT}${installing('vendor_data_file_id = "local:snippets/a.yaml"')}`),
  ],
  ['an agent that a snippet may install', telmate('  agent    = 1\n  cicustom = "user=local:snippets/a.yaml"\n')],
  ['an agent of a system that is installed from a CD', bpg(`${AGENT}  cdrom {\n    interface = "ide2"\n  }\n`)],
  ['a TPM of a new VM', bpg('  tpm_state {}\n')],
  [
    'a role of Proxmox VE 9',
    'resource "proxmox_virtual_environment_role" "r" {\n  privileges = ["VM.GuestAgent.Audit"]\n}\n',
  ],
  ['a verified certificate', 'provider "proxmox" {\n  insecure = false\n}\n'],
  [
    'resources of other providers',
    'resource "aws_instance" "a" {\n  vmid     = 0\n  insecure = true\n}\nprovider "aws" {}\n',
  ],
];

describe('the rule', () => {
  it.each(LINT_RULES.map(({ name }) => name))('%s reports its trap, and only that, with the line', (name) => {
    const traps = TRAPS[name] ?? [];
    expect(traps.length).toBeGreaterThan(0);
    expect(traps.map(([text]) => found(text))).toEqual(traps.map(([, line]) => [`${name} ${line}`]));
  });

  it.each(LINT_RULES.map(({ name, known }) => [name, known] as const))('%s names where it is known', (_, known) => {
    expect(known.length).toBeGreaterThan(0);
    expect(known.every((each) => /^https:\/\/github\.com\/(bpg|Telmate)\/.+\/issues\/\d+$/.test(each))).toBe(true);
  });
});

it.each(SOUND)('no rule reports %s', (_, text) => {
  expect(found(text)).toEqual([]);
});
