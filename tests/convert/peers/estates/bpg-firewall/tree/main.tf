# A router with many cards, from a list with holes.
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


locals {
  cards = [
    { bridge = "vmbr0", vlan = null, mac = "BC:24:11:14:61:00" },
    { bridge = "vmbr1", vlan = 10, mac = "BC:24:11:14:61:01" },
    { bridge = "vmbr1", vlan = 20, mac = "BC:24:11:14:61:02" },
  ]
}

resource "proxmox_virtual_environment_vm" "router" {
  name      = "router"
  node_name = "pve1"
  vm_id     = 1461
  on_boot   = true
  started   = false

  network_device {
    bridge   = "vmbr0"
    model    = "virtio"
    firewall = true
  }

  dynamic "network_device" {
    for_each = local.cards
    iterator = card
    content {
      bridge      = card.value.bridge
      vlan_id     = card.value.vlan
      mac_address = card.value.mac
      queues      = card.key == 0 ? 2 : null
    }
  }

  disk {
    interface    = "virtio0"
    datastore_id = "nfs"
    file_format  = "qcow2"
    size         = 4
  }
  serial_device {}
}

output "first_mac" {
  value = proxmox_virtual_environment_vm.router.network_device[1].mac_address
}
