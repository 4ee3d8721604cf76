# A configuration with a history: moved and import blocks that were applied, a removed block, a check.
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

resource "proxmox_virtual_environment_vm" "app" {
  name      = "app"
  node_name = "pve1"
  vm_id     = 2041
  started   = false

  memory { dedicated = 1024 }

  lifecycle {
    prevent_destroy = false
    ignore_changes  = [description, disk]
    precondition {
      condition     = var.endpoint != ""
      error_message = "Name the server."
    }
  }
}

resource "proxmox_virtual_environment_vm" "workers" {
  for_each  = { a = 2042, b = 2043 }
  name      = "worker-${each.key}"
  node_name = "pve2"
  vm_id     = each.value
  started   = false

  memory { dedicated = 1024 }

  lifecycle {
    create_before_destroy = false
    replace_triggered_by  = [terraform_data.revision]
  }
}

resource "terraform_data" "revision" { input = 1 }

moved {
  from = proxmox_virtual_environment_vm.application
  to   = proxmox_virtual_environment_vm.app
}

removed {
  from = proxmox_virtual_environment_vm.long_gone
  lifecycle { destroy = false }
}

check "ids" {
  assert {
    condition     = length(distinct([for vm in proxmox_virtual_environment_vm.workers : vm.vm_id])) == 2
    error_message = "Two workers share an id."
  }
}
