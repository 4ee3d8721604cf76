# A VM cloned from a template of the recorded world, as a user of the bpg provider writes it.
terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "endpoint" { type = string }
variable "token" {
  type      = string
  sensitive = true
}
variable "node" { type = string }
variable "cores" { type = number }
variable "memory" { type = number }
variable "tags" { type = list(string) }
variable "upload" { type = string }

provider "proxmox" {
  endpoint  = var.endpoint
  api_token = var.token
  # The provider can neither pin a fingerprint nor be given a CA file.
  insecure = true
}

data "proxmox_virtual_environment_nodes" "all" {}
data "proxmox_virtual_environment_datastores" "all" {
  node_name = var.node
}
data "proxmox_virtual_environment_vms" "templates" {
  filter {
    name   = "template"
    values = [true]
  }
}

resource "proxmox_virtual_environment_pool" "ours" {
  pool_id = "stranger"
  comment = "made by terraform"
}

resource "proxmox_virtual_environment_vm" "clone" {
  node_name   = var.node
  name        = "stranger-bpg"
  description = "made by terraform"
  tags        = var.tags
  pool_id     = proxmox_virtual_environment_pool.ours.pool_id
  on_boot     = false

  clone {
    vm_id = 9100
    full  = true
  }
  agent {
    enabled = true
    timeout = "2m"
  }
  cpu {
    cores = var.cores
    type  = "qemu64"
  }
  memory {
    dedicated = var.memory
  }
  disk {
    interface    = "scsi0"
    datastore_id = "local"
    size         = 4
  }
  network_device {
    bridge = "vmbr0"
  }
  initialization {
    datastore_id = "local"
    ip_config {
      ipv4 {
        address = "dhcp"
      }
    }
    user_account {
      username = "stranger"
      keys     = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8stQ5fkpV5R7kEYp6mGSmVfE0bQ4nqC0c0k6m8n0Qx stranger"]
    }
  }
}

resource "proxmox_virtual_environment_role" "ours" {
  role_id    = "Stranger"
  privileges = ["VM.Audit", "VM.PowerMgmt"]
}

resource "proxmox_virtual_environment_user" "ours" {
  user_id = "stranger@pve"
  comment = "made by terraform"
  enabled = true
}

resource "proxmox_virtual_environment_acl" "ours" {
  path      = "/pool/${proxmox_virtual_environment_pool.ours.pool_id}"
  role_id   = proxmox_virtual_environment_role.ours.role_id
  token_id  = proxmox_virtual_environment_user_token.ours.id
  propagate = true
}

resource "proxmox_virtual_environment_user_token" "ours" {
  user_id               = proxmox_virtual_environment_user.ours.user_id
  token_name            = "deploy"
  privileges_separation = true
}

resource "proxmox_virtual_environment_file" "image" {
  node_name    = var.node
  datastore_id = "local"
  content_type = "iso"
  source_file {
    path      = var.upload
    file_name = "stranger.iso"
  }
}

# From nothing, not started: the other road through the provider.
resource "proxmox_virtual_environment_vm" "empty" {
  node_name     = var.node
  name          = "stranger-empty"
  started       = false
  on_boot       = false
  scsi_hardware = "virtio-scsi-single"

  cpu {
    cores = 1
  }
  memory {
    dedicated = 128
  }
  disk {
    interface    = "scsi0"
    datastore_id = "local"
    file_format  = "qcow2"
    size         = 1
  }
  cdrom {
    file_id = proxmox_virtual_environment_file.image.id
  }
  network_device {
    bridge = "vmbr0"
  }
}

output "nodes" { value = data.proxmox_virtual_environment_nodes.all.names }
output "datastores" { value = [for store in data.proxmox_virtual_environment_datastores.all.datastores : store.id] }
output "templates" { value = [for vm in data.proxmox_virtual_environment_vms.templates.vms : vm.name] }
output "addresses" { value = proxmox_virtual_environment_vm.clone.ipv4_addresses }
