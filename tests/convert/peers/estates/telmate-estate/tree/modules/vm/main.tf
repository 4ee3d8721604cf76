terraform {
  required_providers {
    proxmox = {
      source = "telmate/proxmox"
    }
  }
}

variable "name" {}
variable "id" {}

resource "proxmox_vm_qemu" "this" {
  name            = var.name
  target_node     = "pve1"
  vmid            = var.id
  clone_id        = 9001
  full_clone      = false
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  scsihw          = "virtio-scsi-single"

  cpu {
    cores = 2
  }

  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
  }
}
