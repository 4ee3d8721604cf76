# One VM on each node, from a map of nodes.
terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
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


locals {
  nodes = {
    pve1 = { template = 9000, first = 1401, rack = "a" }
    pve2 = { template = 9010, first = 1411, rack = "b" }
  }
  agents = merge([for node, facts in local.nodes : {
    for number in range(2) : "${node}-${number}" => { node = node, id = facts.first + number, facts = facts }
  }]...)
}

resource "proxmox_virtual_environment_vm" "agent" {
  for_each = local.agents

  name      = "agent-${each.key}"
  node_name = each.value.node
  vm_id     = each.value.id
  tags      = sort(["agent", "rack-${each.value.facts.rack}"])
  started   = false

  clone {
    vm_id = each.value.facts.template
    full  = true
  }

  cpu {
    cores = each.value.facts.rack == "a" ? 4 : 2
  }

  memory {
    dedicated = 1024 * (each.value.facts.rack == "a" ? 4 : 2)
  }
}

output "by_node" {
  value = { for name, vm in proxmox_virtual_environment_vm.agent : name => "${vm.node_name}/${vm.vm_id}" }
}
