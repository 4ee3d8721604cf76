terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  endpoint  = var.endpoint
  api_token = "${var.token_id}=${var.token_secret}"
  insecure  = true
}

locals {
  tags = ["estate", "terraform"]
  web = {
    blue  = { node = "pve1", id = 521, ip = "10.10.0.31" }
    green = { node = "pve2", id = 522, ip = "10.10.0.32" }
  }
}

variable "data_disks" {
  type = map(object({ slot = string, size = number, ssd = optional(bool) }))
  default = {
    logs  = { slot = "scsi1", size = 4 }
    cache = { slot = "scsi2", size = 2, ssd = true }
  }
}

variable "cards" {
  default = [{ bridge = "vmbr0", vlan = null }, { bridge = "vmbr1", vlan = 40 }]
}

# Two VMs of a map, on two nodes.
resource "proxmox_virtual_environment_vm" "web" {
  for_each = local.web

  name      = "web-${each.key}"
  node_name = each.value.node
  vm_id     = each.value.id
  tags      = concat(local.tags, [each.key])
  started   = false

  clone {
    vm_id = each.value.node == "pve1" ? 9000 : 9010
    full  = true
  }

  agent {
    enabled = true
  }

  cpu {
    cores = each.key == "blue" ? 4 : 2
    type  = "host"
  }

  memory {
    dedicated = 1024 * 2
    floating  = 1024
  }

  dynamic "disk" {
    for_each = var.data_disks
    content {
      interface    = disk.value.slot
      size         = disk.value.size
      datastore_id = "local-lvm"
      ssd          = disk.value.ssd
      iothread     = true
    }
  }

  dynamic "network_device" {
    for_each = var.cards
    content {
      bridge  = network_device.value.bridge
      vlan_id = network_device.value.vlan
    }
  }

  initialization {
    ip_config {
      ipv4 {
        address = "${each.value.ip}/24"
        gateway = "10.10.0.1"
      }
    }
    user_account {
      username = "ops"
      keys     = [trimspace("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 ops@lab\n")]
    }
  }

  lifecycle {
    ignore_changes = [network_device, initialization, tags]
  }
}

# Three workers, counted.
resource "proxmox_virtual_environment_vm" "worker" {
  count           = 3
  name            = format("worker-%02d", count.index + 1)
  node_name       = count.index % 2 == 0 ? "pve1" : "pve2"
  vm_id           = 530 + count.index
  stop_on_destroy = true

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4 + count.index
  }

  network_device {
    bridge  = "vmbr0"
    enabled = true
  }

  # Runs, with nothing on its disk.
  started = true
}

resource "proxmox_virtual_environment_vm" "gpu" {
  name      = "gpu"
  node_name = "pve1"
  vm_id     = 540
  machine   = "q35"
  bios      = "ovmf"
  started   = false

  cpu {
    type  = "host"
    cores = 8
  }
  memory {
    dedicated = 16384
  }
  efi_disk {
    datastore_id = "local-lvm"
    type         = "4m"
  }
  hostpci {
    device  = "hostpci0"
    mapping = "gpu"
    pcie    = true
    xvga    = true
  }
  vga {
    type = "none"
  }
}

module "node" {
  source = "./modules/node"
  for_each = {
    a = 551
    b = 552
  }
  name   = "module-${each.key}"
  id     = each.value
  memory = 1024
}

output "ids" {
  value = { for key, vm in proxmox_virtual_environment_vm.web : key => vm.vm_id }
}

output "workers" {
  value = proxmox_virtual_environment_vm.worker[*].name
}

output "modules" {
  value = [for each in module.node : each.id]
}
