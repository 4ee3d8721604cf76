terraform {
  required_providers {
    proxmox = {
      source                = "bpg/proxmox"
      configuration_aliases = [proxmox]
    }
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
      configuration_aliases = [proxwright]
    }
  }
}
variable "vms" { type = map(object({ cores = optional(number), memory = optional(number, 1024) })) }
module "vm" {
  source   = "./modules/vm"
  for_each = var.vms
  name     = each.key
  spec     = each.value
}
output "ids" { value = { for k, m in module.vm : k => m.vm.vm_id } }
