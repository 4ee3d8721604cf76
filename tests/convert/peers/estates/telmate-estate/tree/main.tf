terraform {
  required_providers {
    proxmox = {
      source = "Telmate/proxmox"
    }
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
  pm_parallel         = 8
}

variable "template" {
  default = "talos-v1.12.4-base"
}

variable "nodes" {
  type = map(object({
    id     = number
    node   = string
    ip     = string
    memory = optional(number, 2048)
  }))
  default = {
    alpha = { id = 621, node = "pve1", ip = "10.10.0.41" }
    beta  = { id = 622, node = "pve2", ip = "10.10.0.42", memory = 4096 }
  }
}

locals {
  gateway = "10.10.0.1"
}

# A map of nodes.
resource "proxmox_vm_qemu" "node" {
  for_each = var.nodes

  name            = "node-${each.key}"
  target_node     = each.value.node
  vmid            = each.value.id
  clone           = var.template
  full_clone      = true
  memory          = each.value.memory
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  scsihw          = "virtio-scsi-single"
  tags            = "k8s;${each.key}"
  os_type         = "cloud-init"
  ipconfig0       = "ip=${each.value.ip}/24,gw=${local.gateway}"

  cpu {
    cores = 2
  }

  disks {
    scsi {
      scsi0 {
        disk {
          storage = "local-lvm"
          size    = "10G"
        }
      }
    }
    ide {
      ide2 {
        cloudinit {
          storage = "local-lvm"
        }
      }
    }
  }

  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }

  lifecycle {
    ignore_changes = [network, disk, tags]
  }
}

# Counted, with further disks by a dynamic block.
resource "proxmox_vm_qemu" "worker" {
  count           = 2
  name            = "worker-${count.index}"
  target_node     = "pve1"
  vmid            = 630 + count.index
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  scsihw          = "virtio-scsi-single"

  cpu {
    cores = 1 + count.index
  }

  dynamic "disk" {
    for_each = ["scsi0", "scsi1"]
    content {
      slot    = disk.value
      storage = "local-lvm"
      size    = "2G"
    }
  }
}

module "vm" {
  source = "./modules/vm"
  name   = "of-a-module"
  id     = 640
}

output "names" {
  value = { for key, vm in proxmox_vm_qemu.node : key => vm.name }
}
