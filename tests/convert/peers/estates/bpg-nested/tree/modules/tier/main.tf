terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "name" {}
variable "tier" {}

module "vm" {
  source = "./vm"
  count  = var.tier.count
  name   = "${var.name}-${count.index}"
  id     = var.tier.first + count.index
  memory = var.tier.memory
}

output "ids" {
  value = module.vm[*].id
}
