# Beside JSON: a tool writes variables and outputs, and people write the VMs.
terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox", version = ">= 0.60" }
  }
}

provider "proxmox" {
  endpoint  = var.endpoint
  api_token = "${var.token_id}=${var.token_secret}"
  insecure  = true
}

resource "proxmox_virtual_environment_vm" "written" {
  for_each  = var.vms
  name      = each.key
  node_name = "pve1"
  vm_id     = each.value
  started   = false

  memory { dedicated = 512 }
}
