terraform {
  required_providers {
    proxmox = {
      source = "bpg/proxmox"
    }
  }
}

variable "name" {}
variable "machines" {}
variable "tags" { type = list(string) }
variable "ssh_keys" { type = list(string) }

module "machine" {
  source   = "../machine"
  for_each = var.machines

  name     = "${var.name}-${each.key}"
  machine  = each.value
  tags     = var.tags
  ssh_keys = var.ssh_keys
}

output "ids" {
  value = { for key, machine in module.machine : "${var.name}-${key}" => machine.id }
}
