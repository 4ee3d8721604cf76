terraform {
  required_providers {
    proxmox = {
      source = "bpg/proxmox"
    }
  }
}

variable "name" { type = string }
variable "id" { type = number }
variable "memory" { type = number }

resource "proxmox_virtual_environment_vm" "this" {
  name      = var.name
  node_name = "pve1"
  vm_id     = var.id
  started   = false

  memory {
    dedicated = var.memory
  }

  clone {
    vm_id = 9001
    full  = false
  }

  # The drive of the template stays.
  operating_system {
    type = "l26"
  }
}

output "id" {
  value = proxmox_virtual_environment_vm.this.vm_id
}
