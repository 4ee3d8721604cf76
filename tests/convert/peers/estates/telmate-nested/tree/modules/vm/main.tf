terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}

variable "place" {}

resource "proxmox_vm_qemu" "this" {
  name            = "fleet-${var.place.id}"
  target_node     = var.place.node
  vmid            = var.place.id
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  memory          = 512
  network {
    id     = 0
    model  = "virtio"
    bridge = var.place.node == "pve1" ? "vmbr0" : "vmbr1"
    tag    = var.place.node == "pve1" ? 10 : 20
  }
}

output "node" {
  value = proxmox_vm_qemu.this.target_node
}
