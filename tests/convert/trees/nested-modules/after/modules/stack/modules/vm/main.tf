terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
    }
  }
}
variable "name" {}
variable "spec" { type = any }
resource "proxwright_vm" "vm" {
  name    = var.name
  node    = "pve1"
  cpu     = { cores = try(var.spec.cores, 1) }
  memory  = "${lookup(var.spec, "memory", 512)}MiB"
  balloon = lookup(var.spec, "memory", 512) == 0 ? "none" : "${lookup(var.spec, "memory", 512)}MiB"
}
output "vm" { value = proxwright_vm.vm }
