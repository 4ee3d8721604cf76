# A cluster of K3s from locals.
terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  pm_api_url          = "${var.endpoint}/api2/json"
  pm_api_token_id     = var.token_id
  pm_api_token_secret = var.token_secret
  pm_tls_insecure     = true
}


locals {
  nodes = merge(
    { for index in range(1) : "server-${index}" => { id = 1511 + index, node = "pve1", cores = 4, memory = 4096 } },
    { for index in range(2) : "agent-${index}" => { id = 1521 + index, node = element(["pve1", "pve2"], index), cores = 2, memory = 2048 } },
  )
}

resource "proxmox_vm_qemu" "k3s" {
  for_each        = local.nodes
  name            = "k3s-${each.key}"
  target_node     = each.value.node
  vmid            = each.value.id
  clone           = "ubuntu-24.04"
  full_clone      = true
  agent           = 1
  memory          = each.value.memory
  balloon         = each.value.memory / 2
  scsihw          = "virtio-scsi-single"
  boot            = "order=scsi0"
  os_type         = "cloud-init"
  ipconfig0       = "ip=dhcp"
  ciuser          = "k3s"
  tags            = join(";", ["k3s", split("-", each.key)[0]])
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  skip_ipv6       = true

  cpu {
    cores = each.value.cores
    type  = "host"
  }
  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "8G"
    discard = true
  }
  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }

  lifecycle {
    ignore_changes = [disk, network, tags]
  }
}

output "ids" {
  value = { for name, vm in proxmox_vm_qemu.k3s : name => vm.vmid }
}
