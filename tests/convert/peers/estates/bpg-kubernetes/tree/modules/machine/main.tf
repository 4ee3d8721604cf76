terraform {
  required_providers {
    proxmox = {
      source = "bpg/proxmox"
    }
  }
}

variable "name" {}
variable "machine" {}
variable "tags" { type = list(string) }
variable "ssh_keys" { type = list(string) }

locals {
  templates = { pve1 = 9000, pve2 = 9010 }
}

resource "proxmox_virtual_environment_vm" "this" {
  name        = var.name
  description = "A ${var.machine.role} of Kubernetes." # shown in the list
  node_name   = var.machine.node
  tags        = sort(concat(var.tags, [var.machine.role]))
  machine     = var.machine.gpu == null ? null : "q35"
  started     = false

  clone {
    vm_id   = local.templates[var.machine.node]
    full    = true
    retries = 3
  }

  cpu {
    cores = var.machine.cores
    type  = "host"
  }

  memory {
    dedicated = var.machine.memory
    floating  = var.machine.role == "control" ? 0 : var.machine.memory
  }

  # The first one is from the template.
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 10
    iothread     = true
    discard      = "on"
  }

  dynamic "disk" {
    for_each = var.machine.data
    iterator = data
    content {
      interface    = "scsi${data.key + 1}"
      datastore_id = "local-lvm"
      size         = data.value
      backup       = false
    }
  }

  network_device {
    bridge = "vmbr0"
  }

  dynamic "hostpci" {
    for_each = var.machine.gpu == null ? [] : [var.machine.gpu]
    content {
      device  = "hostpci${hostpci.key}"
      mapping = hostpci.value
      pcie    = true
    }
  }

  initialization {
    datastore_id      = "local-lvm"
    user_data_file_id = var.machine.snippets ? "local:snippets/user.yaml" : null

    ip_config {
      ipv4 {
        address = var.machine.address == null ? "dhcp" : "${var.machine.address}/24"
        gateway = var.machine.address == null ? null : "10.10.0.1"
      }
    }

    dynamic "user_account" {
      for_each = var.machine.snippets ? [] : [1]
      content {
        username = "ops"
        keys     = var.ssh_keys
      }
    }
  }

  lifecycle {
    prevent_destroy = false
    ignore_changes  = [initialization[0].user_account, started]
  }
}

output "id" {
  value = proxmox_virtual_environment_vm.this.vm_id
}
