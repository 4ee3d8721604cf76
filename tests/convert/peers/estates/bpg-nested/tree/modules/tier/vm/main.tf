terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "name" {}
variable "id" {}
variable "memory" {}

resource "proxmox_virtual_environment_vm" "this" {
  name      = var.name
  node_name = "pve1"
  vm_id     = var.id
  started   = false
  memory {
    dedicated = var.memory
  }
  network_device {
    bridge = "vmbr0"
  }
}

output "id" {
  value = proxmox_virtual_environment_vm.this.vm_id
}
