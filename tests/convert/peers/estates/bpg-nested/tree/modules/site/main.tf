terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "tiers" {
  type = map(object({ count = number, first = number, memory = number }))
}

module "tier" {
  source   = "../tier"
  for_each = var.tiers
  name     = each.key
  tier     = each.value
}

output "ids" {
  value = { for name, tier in module.tier : name => tier.ids }
}
