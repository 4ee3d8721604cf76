/**
 * A VM that another provider made, and its configuration as `convert` translates it: the host accepts it, plans nothing that
 * reaches the VM, and has nothing to do afterwards.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { convertFiles } from '../../../src/convert/index.ts';
import { formerState, runBesideFormer } from './support/former.ts';
import { HOSTS } from './support/hosts.ts';
import { problems, Scene } from './support/scene.ts';

const BPG = 'registry.terraform.io/bpg/proxmox';
const TELMATE = 'registry.terraform.io/telmate/proxmox';

const BPG_CONFIGURATION = `
terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

provider "proxmox" {}

variable "cards" {
  default = [{ bridge = "vmbr0" }]
}

variable "data" {
  type    = map(object({ slot = string, size = number, ssd = optional(bool) }))
  default = { a = { slot = "scsi1", size = 4 } }
}

resource "proxmox_virtual_environment_vm" "web" {
  name      = "web"
  node_name = "pve1"
  vm_id     = 410
  memory { dedicated = 3072 }
  cpu { cores = 3 }
  tags = ["b", "a"]

  dynamic "disk" {
    for_each = var.data
    content {
      interface    = disk.value.slot
      size         = disk.value.size
      datastore_id = "local-lvm"
      ssd          = disk.value.ssd
    }
  }

  dynamic "network_device" {
    for_each = var.cards
    content { bridge = network_device.value.bridge }
  }

  initialization {
    ip_config {
      ipv4 {
        address = "10.0.20.9/24"
        gateway = "10.0.20.1"
      }
    }
    user_account { username = "ops" }
  }

  dynamic "vga" {
    for_each = length(var.cards) > 5 ? [1] : []
    content { type = "virtio" }
  }

  lifecycle { ignore_changes = [tags] }
}

output "ip" {
  value = proxmox_virtual_environment_vm.web.ipv4_addresses[1][0]
}
`;

const TELMATE_CONFIGURATION = `
terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}

variable "ip" { default = "ip=10.0.20.9/24,gw=10.0.20.1" }

resource "proxmox_vm_qemu" "web" {
  name        = "web"
  target_node = "pve1"
  vmid        = 410
  memory      = 3072
  tags        = "b;a"
  os_type     = "cloud-init"
  ciuser      = "ops"
  ipconfig0   = var.ip
  cpu {
    cores = 3
  }
  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }
  disk {
    slot    = "scsi1"
    storage = "local-lvm"
    size    = "4G"
  }
}

output "ip" {
  value = proxmox_vm_qemu.web.default_ipv4_address
}
`;

describe.each(HOSTS)('a converted configuration under $name $version', (host) => {
  let scene: Scene;

  beforeEach(async () => {
    scene = await Scene.open({ host });
    const { tasks } = scene.outside;
    await tasks.wait(await scene.outside.node('pve1').vm(9000).clone({ newid: 410, name: 'web' }));
    await scene.outside.node('pve1').vm(410).config.put({
      memory: 3072,
      cores: 3,
      tags: 'a;b',
      scsi1: 'local-lvm:4',
      net0: 'virtio,bridge=vmbr0',
      ciuser: 'ops',
      ipconfig0: 'ip=10.0.20.9/24,gw=10.0.20.1',
    });
  });

  afterEach(() => scene.close());

  it.each([
    ['bpg', BPG, 'proxmox_virtual_environment_vm', BPG_CONFIGURATION, { id: '410', vm_id: 410 }],
    ['Telmate', TELMATE, 'proxmox_vm_qemu', TELMATE_CONFIGURATION, { id: 'pve1/qemu/410', vmid: 410 }],
  ])('moves the VM from %s and changes nothing', async (_, provider, type, configuration, attributes) => {
    const { changed, findings } = convertFiles(new Map([['main.tf', configuration]]));
    expect(findings.filter(({ kind }) => kind === 'left' || kind === 'review')).toEqual([]);
    for (const [path, text] of changed) await scene.workspace.write(path, text);
    await scene.workspace.write('terraform.tfstate', formerState([{ type, name: 'web', provider, attributes }]));
    const before = new Map(scene.configOf('web'));
    const sent = scene.requests.length;
    const applied = await runBesideFormer(scene, ['apply', '-json', '-input=false', '-auto-approve'], provider);
    expect(problems(applied)).toEqual([]);
    const summary = applied.messages.find(({ type: kind }) => kind === 'change_summary');
    expect(summary).toMatchObject({ changes: { add: 0, remove: 0 } });
    expect(scene.configOf('web')).toEqual(before);
    expect(scene.requests.slice(sent).filter((line) => !line.startsWith('GET'))).toEqual([]);
    const again = await runBesideFormer(scene, ['plan', '-json', '-input=false', '-detailed-exitcode'], provider);
    expect([again.code, problems(again)]).toEqual([0, []]);
  });
});
