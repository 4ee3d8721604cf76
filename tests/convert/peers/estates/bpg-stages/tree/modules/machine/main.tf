terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "name" { type = string }
variable "vmid" { type = number }
variable "node" { type = string }
variable "disks" {
  type    = map(object({ size = number, ssd = optional(bool) }))
  default = {}
}

resource "proxmox_virtual_environment_vm" "this" {
  name          = var.name
  node_name     = var.node
  vm_id         = var.vmid
  started       = false
  scsi_hardware = "virtio-scsi-single"

  memory { dedicated = 1024 }

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    iothread     = true
  }
  dynamic "disk" {
    for_each = var.disks
    content {
      interface    = disk.key
      datastore_id = "local-lvm"
      size         = disk.value.size
      ssd          = disk.value.ssd
    }
  }
}

output "id" { value = proxmox_virtual_environment_vm.this.vm_id }
