terraform {
  required_version = ">= 1.5"
  required_providers {
    px    = { source = "bpg/proxmox", version = "~> 0.50" }
    null  = { source = "hashicorp/null" }
  }
}
provider "px" {
  endpoint = "https://a:8006"
  api_token = var.token
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
variable "token" { sensitive = true }
variable "token_b" { sensitive = true }
variable "insecure" { default = true }
variable "enabled" { default = true }
data "proxmox_virtual_environment_nodes" "all" { provider = px.b }
resource "proxmox_virtual_environment_vm" "maybe" {
  provider  = px.b
  count     = var.enabled ? 1 : 0
  name      = "maybe-${count.index}"
  node_name = data.proxmox_virtual_environment_nodes.all.names[0]
  vm_id     = 0
  boot_order = ["scsi0", "net0"]
  initialization {
    dns { server = "10.0.0.2 10.0.0.3" }
    ip_config {
      ipv4 {
        address = "10.0.0.${10 + count.index}/24"
        gateway = "10.0.0.1"
      }
    }
  }
  vga {
    enabled = true
    type    = "std"
  }
  disk {
    interface = "scsi0"
    file_id   = "local:iso/noble.img"
    datastore_id = "local-lvm"
    size = 20
  }
  network_device {}
  timeout_clone = 600
}
resource "null_resource" "ping" {
  count = length(proxmox_virtual_environment_vm.maybe)
  triggers = {
    id = try(proxmox_virtual_environment_vm.maybe[count.index].id, "none")
    ip = one(proxmox_virtual_environment_vm.maybe[*].ipv4_addresses[1][0])
    macs = join(",", flatten(proxmox_virtual_environment_vm.maybe[*].mac_addresses))
  }
  provisioner "local-exec" {
    command = "ping -c1 ${proxmox_virtual_environment_vm.maybe[0].ipv4_addresses[1][0]}"
  }
  lifecycle { replace_triggered_by = [proxmox_virtual_environment_vm.maybe[0].id] }
}
moved {
  from = proxmox_virtual_environment_vm.old
  to   = proxmox_virtual_environment_vm.maybe[0]
}
import {
  to = proxmox_virtual_environment_vm.maybe[0]
  id = "pve1/101"
}
removed {
  from = proxmox_virtual_environment_vm.gone
  lifecycle { destroy = false }
}
check "up" {
  assert {
    condition     = proxmox_virtual_environment_vm.maybe[0].started
    error_message = "down: ${proxmox_virtual_environment_vm.maybe[0].name}"
  }
}
