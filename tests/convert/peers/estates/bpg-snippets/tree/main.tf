# Snippets that the configuration uploads. The provider would send them by SSH; here it imports files that are there.
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


variable "greeting" {
  default = "welcome"
}

resource "proxmox_virtual_environment_file" "user" {
  content_type = "snippets"
  datastore_id = "local"
  node_name    = "pve1"

  source_raw {
    file_name = "user.yaml"
    data      = <<-EOT
      #cloud-config
      packages:
        - qemu-guest-agent
    EOT
  }

  lifecycle {
    ignore_changes = all
  }
}

# With an interpolation.
resource "proxmox_virtual_environment_file" "network" {
  content_type = "snippets"
  datastore_id = "local"
  node_name    = "pve1"

  source_raw {
    file_name = "network.yaml"
    data      = <<-EOT
      # ${var.greeting}
      version: 2
    EOT
  }

  lifecycle {
    ignore_changes = all
  }
}

resource "proxmox_virtual_environment_vm" "host" {
  count     = 2
  name      = "host-${count.index}"
  node_name = "pve1"
  vm_id     = 1561 + count.index
  started   = false

  clone {
    vm_id = 9000
    full  = true
  }

  initialization {
    datastore_id         = "local-lvm"
    user_data_file_id    = proxmox_virtual_environment_file.user.id
    network_data_file_id = count.index == 0 ? proxmox_virtual_environment_file.network.id : null
  }
}
