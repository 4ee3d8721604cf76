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

resource "proxmox_virtual_environment_vm" "addressed" {
  vm_id         = 591
  name          = "addressed"
  node_name     = "pve1"
  started       = false
  mac_addresses = ["BC:24:11:00:05:91"]
  memory {
    dedicated = 1024
  }
  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:05:91"
  }
}

# The volume is there before the VM.
resource "proxmox_virtual_environment_cloned_vm" "with_a_volume" {
  id        = 592
  name      = "with-a-volume"
  node_name = "pve1"
  started   = false
  clone = {
    source_vm_id = 9000
  }
  disk = {
    scsi1 = {
      file = "local-lvm:vm-592-disk-7"
    }
  }
}
