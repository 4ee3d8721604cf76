# A cluster of machines on two nodes, by modules in modules.
terraform {
  required_version = ">= 1.5"
  required_providers {
    proxmox = {
      source = "bpg/proxmox"
    }
  }
}

provider "proxmox" {
  endpoint  = var.endpoint
  api_token = "${var.token_id}=${var.token_secret}"
  insecure  = true
  tmp_dir   = "/var/tmp"

  random_vm_ids      = true
  random_vm_id_start = 60000
  random_vm_id_end   = 60999

  ssh {
    agent    = false
    username = "terraform"
  }
}

module "cluster" {
  source   = "./modules/cluster"
  for_each = var.clusters

  name     = each.key
  machines = each.value.machines
  tags     = sort(concat(["kubernetes", each.key], local.common_tags))
  ssh_keys = local.ssh_keys
}

locals {
  common_tags = ["terraform"]
  ssh_keys    = [for key in split("\n", trimspace(file("${path.module}/keys.txt"))) : trimspace(key)]
}

output "machines" {
  description = "IDs by name."
  value       = merge([for cluster in module.cluster : cluster.ids]...)
}
