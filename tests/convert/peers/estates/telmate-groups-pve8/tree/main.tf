terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  pm_api_url          = "${var.endpoint}/api2/json"
  pm_api_token_id     = var.token_id
  pm_api_token_secret = var.token_secret
  pm_tls_insecure     = true
  pm_parallel         = 4
  pm_timeout          = 600
}

# Proxmox VE 8 has groups of nodes, which Proxmox VE 9 replaced by rules.
resource "proxmox_vm_qemu" "available" {
  name            = "available"
  vmid            = 781
  target_node     = "pve1"
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  hastate         = "stopped"
  hagroup         = "fast-nodes"

  cpu {
    cores = 1
  }
  disk {
    slot    = "scsi0"
    storage = "nfs"
    size    = "2G"
  }
}
