// biome-ignore-all lint/suspicious/noTemplateCurlyInString: interpolations of HCL are written like this
/** What a conversion writes is checked by the provider itself: a refusal is in the report, with the line that it comes from. */
import { describe, expect, it } from 'vitest';
import { fieldsOf, withRefusals } from '../../src/cli/commands/convert.ts';
import { convertFiles, readState, stackOf } from '../../src/convert/index.ts';

const vm = (lines: string, name = 'web') => `resource "proxmox_vm_qemu" "${name}" {
  name        = "${name}"
  target_node = "pve1"
  clone       = "debian"
${lines}}
`;

function converted(text: string | Readonly<Record<string, string>>) {
  const files = new Map(Object.entries(typeof text === 'string' ? { 'main.tf': text } : text));
  const conversion = withRefusals(files, convertFiles(files), undefined);
  return {
    text: conversion.changed.get('main.tf') ?? '',
    said: conversion.findings.map(({ kind, file, line, what, why }) => `${kind} ${file}:${line} ${what}: ${why}`),
  };
}

const stackText = (files: Readonly<Record<string, string>>) => {
  const given = new Map(Object.entries(files));
  const all = new Map([...given, ...convertFiles(given).changed]);
  return stackOf({ files: all, name: 'lab', fieldsOf });
};

describe('a VM under HA', () => {
  it('is started by the HA manager, although the former provider creates it off', () => {
    const { text, said } = converted(vm('  oncreate = false\n  hastate  = "started"\n'));
    expect(text).toContain('ha    = { state = "started" }');
    expect(text).not.toContain('power');
    expect(said).toEqual(['dropped main.tf:5 oncreate: The HA manager starts the VM: `hastate` says so.']);
  });

  it.each(['stopped', 'disabled'])('is off if its state is %s', (state) => {
    const { text, said } = converted(vm(`  hastate = "${state}"\n`));
    expect(text).toMatch(new RegExp(`power = "stopped"\\n\\s*ha    = { state = "${state}" }`));
    expect(said).toEqual([]);
  });

  it('knows the older word for started, and that an empty text is no state', () => {
    expect(converted(vm('  hastate = "enabled"\n')).text).toContain('ha    = { state = "started" }');
    expect(converted(vm('  hastate = ""\n  hagroup = ""\n')).text).not.toContain('ha ');
  });

  it('is reported if it should be off and started at once', () => {
    expect(converted(vm('  vm_state = "stopped"\n  hastate  = "started"\n')).said).toEqual([
      'review main.tf:6 ha.state: Proxwright refuses this: "power" is stopped, but the HA manager would start the VM: "ha.state" is started. Write ha = { state = "stopped" }, or power = "running".',
    ]);
  });
});

describe('what the provider refuses', () => {
  it.each([
    [
      'a disk',
      '  disk {\n    slot    = "scsi1"\n    type    = "disk"\n    storage = "a b"\n  }\n',
      8,
      'disks.scsi1.storage',
    ],
    ['a slot', '  network {\n    id    = 99\n    model = "virtio"\n  }\n', 5, 'nics.net99'],
    ['an address', '  ipconfig0 = "ip=10.0.0.300/24"\n', 5, 'nics.net0.ipv4.address'],
    ['a word', '  bios = "coreboot"\n', 5, 'bios'],
    ['a type', '  onboot = "maybe"\n', 5, 'on_boot'],
  ])('is reported with its line: %s', (_, lines, line, path) => {
    const { said } = converted(vm(lines));
    const refused = said.filter((each) => each.includes('Proxwright refuses this'));
    expect(refused).toEqual([
      expect.stringMatching(new RegExp(`^review main.tf:${line} ${path.replaceAll('.', '\\.')}`)),
    ]);
  });

  it('is found behind variables, locals and modules, and once for all instances', () => {
    const { said } = converted({
      'main.tf': 'module "web" {\n  source = "./vm"\n  kinds  = { a = "ok", b = "wrong" }\n}\n',
      'vm/main.tf': `variable "kinds" {}
locals {
  firmware = { ok = "ovmf", wrong = "coreboot" }
}
resource "proxmox_vm_qemu" "vm" {
  for_each    = merge(var.kinds, { c = "wrong" })
  name        = each.key
  target_node = "pve1"
  bios        = local.firmware[each.value]
}
`,
    });
    expect(said).toEqual([expect.stringMatching(/^review vm\/main\.tf:9 bios: Proxwright refuses this/)]);
  });

  it.each([
    ['a variable without a value', '  bios = var.firmware\n'],
    ['a variable that the caller computes', '  bios = var.computed\n'],
    ['another resource', '  pool = random_pet.pool.id\n'],
    ['a VLAN that may be -1, which was the default', '  network {\n    id  = 0\n    tag = -1 * 1\n  }\n'],
    ['a number in quotes', '  cores = "4"\n  onboot = "true"\n'],
    ['a count that is not known', '  count = var.many\n  vmid = 500 + count.index\n'],
  ])('is nothing that is not known: %s', (_, lines) => {
    const variables = 'variable "firmware" {}\nvariable "many" {}\nvariable "computed" { default = "coreboot" }\n';
    const files = {
      'main.tf': 'module "web" {\n  source   = "./vm"\n  computed = data.external.x.result\n}\n',
      'vm/main.tf': `${variables}${vm(lines)}`,
    };
    expect(converted(files).said).toEqual([]);
  });
});

describe('a stack', () => {
  it('has the types of a stack file where Terraform converts text', () => {
    const lines =
      '  cores   = "4"\n  onboot  = "true"\n  balloon = "0"\n  network {\n    id  = 0\n    tag = "20"\n  }\n';
    const { text } = stackText({ 'main.tf': vm(lines) });
    expect(text).toContain('cores: 4\n');
    expect(text).toContain('on_boot: true\n');
    expect(text).toContain('vlan: 20\n');
    expect(text).toContain('balloon: false\n');
  });

  it('gives keys that differ only in punctuation names of their own, and images too', () => {
    const image = `resource "proxmox_virtual_environment_download_file" "os" {
  for_each     = { "1.0" = "a", "1-0" = "b" }
  content_type = "iso"
  datastore_id = "local"
  node_name    = "pve1"
  url          = "https://images.example.org/\${each.value}.iso"
}
resource "proxmox_virtual_environment_vm" "web" {
  for_each  = toset(["a.b", "a-b", "a b"])
  name      = replace(each.key, " ", "x")
  node_name = "pve1"
  cdrom {
    interface = "ide2"
    file_id   = proxmox_virtual_environment_download_file.os[each.key == "a.b" ? "1.0" : "1-0"].id
  }
}
`;
    const { text } = stackText({ 'main.tf': image });
    expect(text.match(/^ {2}(web|os)[^:]*/gm)).toEqual([
      '  os-1-0',
      '  os-1-0-2',
      '  web-a-b',
      '  web-a-b-2',
      '  web-a-b-3',
    ]);
    expect(text).toMatch(/os-1-0-2:\n(?:.+\n){2} {4}url: https:\/\/images.example.org\/a.iso/);
    expect(text).toMatch(/name: a\.b\n(?:.+\n)*? {8}image: os-1-0-2\n/);
    expect(text).toMatch(/name: a-b\n(?:.+\n)*? {8}image: os-1-0\n/);
  });

  it('keeps what looks like a reference, in fields and in user-data', () => {
    const snippet = `resource "proxmox_virtual_environment_file" "user" {
  content_type = "snippets"
  datastore_id = "local"
  node_name    = "pve1"
  source_raw {
    file_name = "user.yaml"
    data      = "#cloud-config\\nruncmd: [echo $\${HOME}]\\n"
  }
}
resource "proxmox_virtual_environment_vm" "web" {
  name        = "web"
  node_name   = "pve1"
  description = "costs $\${PRICE}"
  initialization {
    user_data_file_id = proxmox_virtual_environment_file.user.id
  }
}
`;
    const { text } = stackText({ 'main.tf': snippet });
    expect(text).toContain('description: costs $${PRICE}\n');
    expect(text).toContain('runcmd: [echo $${HOME}]');
  });

  it('takes the values that optional attributes of a variable have by default', () => {
    const files = {
      'main.tf': `variable "vms" {
  type = map(object({ node = string, cores = optional(number, 2), firmware = optional(string) }))
}
resource "proxmox_vm_qemu" "vm" {
  for_each    = var.vms
  name        = each.key
  target_node = each.value.node
  cores       = each.value.cores
  bios        = each.value.firmware
}
`,
      'terraform.tfvars':
        'vms = {\n  a = { node = "pve1" }\n  b = { node = "pve2", cores = 8, firmware = "ovmf" }\n}\n',
    };
    const { text, findings } = stackText(files);
    expect(findings).toEqual([]);
    expect(text).toMatch(/vm-a:\n {4}name: a\n {4}node: pve1\n {4}cpu:\n {6}cores: 2\n {2}vm-b:/);
    expect(text).toMatch(/cores: 8\n {4}bios: ovmf\n/);
  });

  it('reads the state of each instance whose key has a dot', () => {
    const state = readState(
      JSON.stringify({
        version: 4,
        resources: [
          {
            mode: 'managed',
            type: 'proxmox_vm_qemu',
            name: 'web',
            instances: ['a.b', 'a-b'].map((key, index) => ({ index_key: key, attributes: { vmid: 500 + index } })),
          },
        ],
      }),
    );
    const files = new Map([['main.tf', vm('  for_each = toset(["a.b", "a-b"])\n')]]);
    const all = new Map([...files, ...convertFiles(files, state).changed]);
    const { text } = stackOf({ files: all, name: 'lab', fieldsOf, ...(state && { state }) });
    expect(text).toMatch(/web-a-b:\n(?: {4}.+\n)*? {4}vmid: 501\n/);
    expect(text).toMatch(/web-a-b-2:\n(?: {4}.+\n)*? {4}vmid: 500\n/);
  });
});
