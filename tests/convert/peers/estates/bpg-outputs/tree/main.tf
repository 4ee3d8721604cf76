# What other tools read of the VMs: outputs in many spellings, a resource of the language and a check.
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

resource "proxmox_virtual_environment_vm" "web" {
  count     = 2
  name      = format("out-%02d", count.index + 1)
  node_name = "pve1"
  vm_id     = 2021 + count.index
  started   = false

  agent { enabled = false }
  memory { dedicated = 1024 + count.index * 512 }
  network_device {
    bridge = "vmbr0"
  }
  network_device {
    bridge  = "vmbr1"
    vlan_id = 10 + count.index
  }
}

resource "proxmox_virtual_environment_vm" "db" {
  name      = "out-db"
  node_name = proxmox_virtual_environment_vm.web[0].node_name
  vm_id     = proxmox_virtual_environment_vm.web[1].vm_id + 1
  started   = false
  tags      = ["db"]

  memory { dedicated = 2048 }
  network_device { bridge = "vmbr0" }
}

resource "terraform_data" "inventory" {
  input = {
    ids   = proxmox_virtual_environment_vm.web[*].vm_id
    names = [for vm in proxmox_virtual_environment_vm.web : vm.name]
    db    = "${proxmox_virtual_environment_vm.db.node_name}/${proxmox_virtual_environment_vm.db.vm_id}"
  }
}

output "macs" { value = [for vm in proxmox_virtual_environment_vm.web : lower(vm.network_device[1].mac_address)] }
output "first_mac" { value = proxmox_virtual_environment_vm.db.network_device[0].mac_address }
output "db_id" { value = proxmox_virtual_environment_vm.db.id }
output "by_name" { value = { for vm in proxmox_virtual_environment_vm.web : vm.name => vm.vm_id } }
output "address" {
  description = "Read in one place, with a default."
  value       = try(proxmox_virtual_environment_vm.db.ipv4_addresses[1][0], "none")
}
