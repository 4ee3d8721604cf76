# Talos from a downloaded ISO image: a control plane and workers that refer to it.
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


resource "proxmox_virtual_environment_download_file" "talos" {
  for_each     = toset(["nfs"])
  content_type = "iso"
  datastore_id = each.key
  node_name    = "pve1"
  url          = "https://github.com/siderolabs/talos/releases/download/v1.12.4/metal-amd64.iso"
  file_name    = "talos-estate.iso"
  overwrite    = false
}

locals {
  machines = concat(
    [for index in range(1) : { name = "cp-${index}", id = 1471 + index, cores = 4 }],
    [for index in range(2) : { name = "worker-${index}", id = 1481 + index, cores = 2 }],
  )
}

resource "proxmox_virtual_environment_vm" "machine" {
  for_each  = { for machine in local.machines : machine.name => machine }
  name      = each.key
  node_name = "pve1"
  vm_id     = each.value.id
  started   = false
  tags      = ["talos", split("-", each.key)[0]]

  cpu {
    cores = each.value.cores
    type  = "host"
  }
  memory {
    dedicated = 2048
  }
  agent {
    enabled = startswith(each.key, "cp")
  }
  cdrom {
    interface = "ide0"
    file_id   = proxmox_virtual_environment_download_file.talos["nfs"].id
  }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 10
  }
  network_device {
    bridge = "vmbr0"
  }
  boot_order = ["scsi0", "ide0"]
}
