terraform {
  required_providers { proxmox = { source = "bpg/proxmox" } }
}
variable "name" {}
variable "spec" { type = any }
resource "proxmox_virtual_environment_vm" "vm" {
  name      = var.name
  node_name = "pve1"
  cpu {
    cores = try(var.spec.cores, 1)
  }
  memory {
    dedicated = lookup(var.spec, "memory", 512)
    floating  = lookup(var.spec, "memory", 512)
  }
}
output "vm" { value = proxmox_virtual_environment_vm.vm }
