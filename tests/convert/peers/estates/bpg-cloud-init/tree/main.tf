# Cloud-init in every way: files of the storage, fixed and dual addresses, users with keys.
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


variable "hosts" {
  default = {
    bastion = { id = 1451, v4 = "10.10.0.51/24", v6 = "fd00:10::51/64", user_data = "local:snippets/user.yaml" }
    mail    = { id = 1452, v4 = "10.10.0.52/24", v6 = null, user_data = null }
    lab     = { id = 1453, v4 = "dhcp", v6 = "auto", user_data = null }
  }
}

resource "proxmox_virtual_environment_vm" "host" {
  for_each  = var.hosts
  name      = each.key
  node_name = "pve1"
  vm_id     = each.value.id
  started   = false

  clone {
    vm_id = 9000
    full  = true
  }

  initialization {
    datastore_id        = "local-lvm"
    user_data_file_id   = each.value.user_data
    vendor_data_file_id = each.key == "mail" ? "local:snippets/vendor.yaml" : null

    dns {
      domain  = "lab.example"
      servers = ["10.10.0.2", "10.10.0.3"]
    }

    ip_config {
      ipv4 {
        address = each.value.v4
        gateway = each.value.v4 == "dhcp" ? null : "10.10.0.1"
      }
      ipv6 {
        address = each.value.v6
        gateway = each.value.v6 == null || each.value.v6 == "auto" ? null : "fd00:10::1"
      }
    }

    dynamic "user_account" {
      for_each = each.value.user_data == null ? ["ops"] : []
      content {
        username = user_account.value
        keys     = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 ops@lab"]
      }
    }
  }
}
