terraform {
  required_providers {
    proxmox = { source = "telmate/proxmox" }
  }
}

variable "name" {}
variable "server" {}

resource "proxmox_vm_qemu" "this" {
  name            = var.name
  target_node     = var.server.node
  vmid            = var.server.id
  clone           = "ubuntu-24.04"
  full_clone      = true
  memory          = var.server.memory
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  scsihw          = "virtio-scsi-single"
  os_type         = "cloud-init"
  ciuser          = "ops"
  ipconfig0       = var.server.address == null ? "ip=dhcp" : "ip=${var.server.address}/24,gw=10.10.0.1"

  cpu {
    cores = 2
  }

  dynamic "disk" {
    for_each = var.server.disks
    content {
      slot     = "scsi${disk.key}"
      type     = "disk"
      storage  = "local-lvm"
      size     = "${disk.value}G"
      iothread = true
    }
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

  serial {
    id   = 0
    type = "socket"
  }

  lifecycle {
    ignore_changes = [startup_shutdown]
  }
}

output "node" {
  value = proxmox_vm_qemu.this.target_node
}
