terraform {
  required_version = ">= 1.5"
  required_providers {
    px    = { source = "bpg/proxmox", version = "~> 0.50" }
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
    }
    null  = { source = "hashicorp/null" }
  }
}
provider "px" {
  endpoint = "https://a:8006"
  api_token = var.token
}

provider "proxwright" {
  endpoint = "https://a:8006"
  token    = var.token
}
provider "px" {
  alias    = "b"
  endpoint = "https://b:8006"
  api_token = var.token_b
  insecure = var.insecure
  ssh {
    username = "root"
    node {
      name    = "pve1"
      address = "10.0.0.1"
    }
  }
}

provider "proxwright" {
  alias    = "b"
  endpoint = "https://b:8006"
  token    = var.token_b
}
variable "token" { sensitive = true }
variable "token_b" { sensitive = true }
variable "insecure" { default = true }
variable "enabled" { default = true }
data "proxmox_virtual_environment_nodes" "all" { provider = px.b }
resource "proxwright_vm" "maybe" {
  provider   = proxwright.b
  count      = var.enabled ? 1 : 0
  name       = "maybe-${count.index}"
  node       = data.proxmox_virtual_environment_nodes.all.names[0]
  boot       = ["scsi0", "net0"]
  guest      = "cloud-init"
  cloud_init = { dns = { servers = ["10.0.0.2", "10.0.0.3"] } }
  nics = {
    net0 = {
      bridge = "vmbr0"
      ipv4   = { address = "10.0.0.${10 + count.index}/24", gateway = "10.0.0.1" }
    }
  }
  vga = { type = "std" }
  disks = {
    scsi0 = { import_from = "local:iso/noble.img", storage = "local-lvm", size = "20GiB" }
  }
  timeouts = { clone = "600s" }
}
resource "null_resource" "ping" {
  count = length(proxwright_vm.maybe)
  triggers = {
    id = try(proxwright_vm.maybe[count.index].vmid, "none")
    ip = one(proxwright_vm.maybe[*].primary_address)
    macs = join(",", flatten([for vm in proxwright_vm.maybe[*] : values(vm.macs)]))
  }
  provisioner "local-exec" {
    command = "ping -c1 ${proxwright_vm.maybe[0].primary_address}"
  }
  lifecycle { replace_triggered_by = [proxwright_vm.maybe[0].vmid] }
}
# Not translated: Apply it with the former provider first; one address cannot move twice.
# moved {
#   from = proxmox_virtual_environment_vm.old
#   to   = proxmox_virtual_environment_vm.maybe[0]
# }
import {
  to = proxwright_vm.maybe[0]
  id = "pve1/101"
}
removed {
  from = proxmox_virtual_environment_vm.gone
  lifecycle { destroy = false }
}
check "up" {
  assert {
    condition     = proxwright_vm.maybe[0].power
    error_message = "down: ${proxwright_vm.maybe[0].name}"
  }
}
