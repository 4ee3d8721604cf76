# A lab at home: one map of machines with everything in it, dynamic disks and cards, arithmetic, and comments everywhere.
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
}

variable "machines" {
  description = "Everything that runs at home."
  type = map(object({
    id     = number
    cores  = optional(number, 1)
    memory = optional(number, 1024)
    disks  = optional(map(string), { scsi0 = "4G" })
    vlans  = optional(list(number), [0])
    tags   = optional(set(string), [])
    boot   = optional(bool)
  }))
  default = {
    pihole = { id = 2101, tags = ["dns", "always-on"], boot = true } # the children notice at once
    media = {
      id     = 2102
      cores  = 4
      memory = 4096
      disks  = { scsi0 = "8G", scsi1 = "2G", virtio0 = "1G" }
      vlans  = [20, 30]
    }
    lab-01 = { id = 2103, vlans = [] }
  }
}

locals {
  # Backups need fewer resources.
  spare   = { for index in range(2) : "spare-${index}" => merge(var.machines["lab-01"], { id = 2110 + index, vlans = [40 + index] }) }
  // Both maps
  all     = merge(var.machines, local.spare)
}

resource "proxmox_vm_qemu" "home" {
  for_each        = local.all /* every one */
  name            = each.key
  target_node     = "pve1"
  vmid            = each.value.id
  vm_state        = "stopped"
  start_at_node_boot = each.value.boot == true
  memory          = each.value.memory
  balloon         = floor(each.value.memory / 2) # half of it
  scsihw          = "virtio-scsi-pci"
  clone_wait      = 0
  additional_wait = 0
  tags            = length(each.value.tags) > 0 ? join(";", sort(each.value.tags)) : "home"

  cpu {
    cores = each.value.cores
    type  = each.value.cores > 2 ? "host" : "x86-64-v2-AES"
  }

  dynamic "network" {
    for_each = each.value.vlans
    content {
      id     = network.key
      model  = "virtio"
      bridge = network.value > 0 ? "vmbr1" : "vmbr0"
      tag    = network.value
    }
  }

  dynamic "disk" {
    for_each = each.value.disks
    content {
      slot    = disk.key
      storage = "local-lvm"
      size    = disk.value
      # Trim
      discard = startswith(disk.key, "scsi")
    }
  }

  lifecycle {
    ignore_changes = [
      network, # MAC addresses
      tags,
    ]
  }
}
