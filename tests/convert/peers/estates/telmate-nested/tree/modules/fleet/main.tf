terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}

variable "fleet" {
  type = map(list(number))
}

module "vm" {
  source   = "../vm"
  for_each = merge([for node, ids in var.fleet : { for id in ids : "${node}-${id}" => { node = node, id = id } }]...)
  place    = each.value
}

output "nodes" {
  value = { for name, vm in module.vm : name => vm.node }
}
