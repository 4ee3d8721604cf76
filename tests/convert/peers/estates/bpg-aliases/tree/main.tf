# Two aliases of the provider, and data sources that stay with it.
terraform {
  required_providers {
    proxmox = {
      source = "bpg/proxmox"
    }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  endpoint  = var.endpoint
  api_token = "${var.token_id}=${var.token_secret}"
  insecure  = true
}

provider "proxmox" {
  alias     = "second"
  endpoint  = var.endpoint
  api_token = "${var.token_id}=${var.token_secret}"
  insecure  = true
}

data "proxmox_virtual_environment_nodes" "all" {}

data "proxmox_virtual_environment_version" "here" {
  provider = proxmox.second
}

locals {
  nodes = sort(data.proxmox_virtual_environment_nodes.all.names)
}

resource "proxmox_virtual_environment_vm" "first" {
  for_each  = toset(["pve1", "pve2"])
  name      = "alias-${each.key}"
  node_name = each.value
  vm_id     = 2001 + index(local.nodes, each.key)
  started   = false

  cpu { cores = 2 }
  memory { dedicated = 1024 }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
  }
}

resource "proxmox_virtual_environment_vm" "second" {
  provider    = proxmox.second
  name        = "alias-last"
  node_name   = local.nodes[0]
  vm_id       = 2010
  started     = false
  description = "after ${join(", ", [for vm in proxmox_virtual_environment_vm.first : vm.name])}"
  depends_on  = [proxmox_virtual_environment_vm.first]

  memory { dedicated = 1024 }
}

output "release" { value = data.proxmox_virtual_environment_version.here.release }
output "nodes" { value = local.nodes }
