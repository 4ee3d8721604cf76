# GPU machines from a list of objects: dynamic PCI and USB devices, and machines without any.
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

variable "farm" {
  type = list(object({
    name = string
    gpus = optional(list(string), [])
    usb  = optional(string)
    numa = optional(bool, false)
  }))
  default = [
    { name = "render", gpus = ["gpu"], usb = "stick", numa = true },
    { name = "build" },
  ]
}

resource "proxmox_virtual_environment_vm" "farm" {
  for_each  = { for index, machine in var.farm : machine.name => merge(machine, { index = index }) }
  name      = "farm-${each.key}"
  node_name = "pve1"
  vm_id     = 2141 + each.value.index
  started   = false
  machine   = length(each.value.gpus) > 0 ? "q35" : "pc"

  cpu {
    cores = 8 / (each.value.index + 1)
    type  = "host"
    numa  = each.value.numa
  }
  memory {
    dedicated = pow(2, 12 - each.value.index)
  }

  dynamic "hostpci" {
    for_each = each.value.gpus
    content {
      device  = "hostpci${hostpci.key}"
      mapping = hostpci.value
      pcie    = true
      rombar  = true
    }
  }

  dynamic "usb" {
    for_each = each.value.usb == null ? [] : [each.value.usb]
    content {
      mapping = usb.value
      usb3    = true
    }
  }

  dynamic "disk" {
    for_each = ["scsi0", "scsi1"]
    iterator = slot
    content {
      interface    = slot.value
      datastore_id = "local-lvm"
      size         = 2 + slot.key
    }
  }
}
