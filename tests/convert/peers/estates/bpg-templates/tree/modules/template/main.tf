terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "name" {}
variable "id" {}

resource "proxmox_virtual_environment_vm" "this" {
  name      = var.name
  node_name = "pve1"
  vm_id     = var.id
  template  = true
  started   = false

  disk {
    interface    = "virtio0"
    datastore_id = "local-lvm"
    import_from  = "local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2"
    size         = 6
  }
}
