# A database: disks from a map of maps, and a replica that may be switched off.
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


variable "has_replica" {
  type    = bool
  default = true
}

variable "volumes" {
  type = map(object({
    size  = number
    cache = optional(string)
    ssd   = optional(bool, false)
  }))
  default = {
    scsi1 = { size = 6, cache = "none", ssd = true }
    scsi2 = { size = 3 }
  }
}

resource "proxmox_virtual_environment_vm" "primary" {
  name        = "db-primary"
  node_name   = "pve1"
  vm_id       = 1421
  started     = false
  description = <<-EOT
    # Database

    Primary of the cluster.
  EOT

  startup {
    order      = 1
    up_delay   = 60
    down_delay = 120
  }

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 8
    discard      = "on"
  }

  dynamic "disk" {
    for_each = var.volumes
    content {
      interface    = disk.key
      datastore_id = "local-lvm"
      size         = disk.value.size
      cache        = disk.value.cache
      ssd          = disk.value.ssd
      backup       = disk.key != "scsi2"
    }
  }

  network_device {
    bridge = "vmbr0"
  }

  lifecycle {
    prevent_destroy = false
    ignore_changes  = [disk, network_device]
  }
}

resource "proxmox_virtual_environment_vm" "replica" {
  count     = var.has_replica ? 1 : 0
  name      = "${proxmox_virtual_environment_vm.primary.name}-replica"
  node_name = "pve2"
  vm_id     = proxmox_virtual_environment_vm.primary.vm_id + 1
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 8
  }
}

output "replica" {
  value = one(proxmox_virtual_environment_vm.replica[*].vm_id)
}
