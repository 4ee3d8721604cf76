# Linked clones, counted, with limits of time and values that may be null.
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


variable "limit" {
  type    = number
  default = null
}

variable "pool" {
  type    = string
  default = "lab"
}

resource "proxmox_virtual_environment_vm" "runner" {
  count               = 3
  name                = format("runner-%03d", count.index)
  node_name           = "pve1"
  vm_id               = 1491 + count.index
  pool_id             = var.pool
  started             = false
  reboot_after_update = count.index == 0
  timeout_clone       = 600
  timeout_shutdown_vm = 120

  clone {
    vm_id   = 9000
    full    = false
    retries = 2
  }
  cpu {
    cores = 2
    limit = var.limit
  }
  memory {
    dedicated = 1024 + 512 * count.index
  }
}

output "names" {
  value = [for vm in proxmox_virtual_environment_vm.runner : vm.name]
}
