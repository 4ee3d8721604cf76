# Servers of a lab: from a table, by a module, and one by one.
terraform {
  required_providers {
    proxmox = {
      source = "telmate/proxmox"
    }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  alias               = "lab"
  pm_api_url          = "${var.endpoint}/api2/json"
  pm_api_token_id     = var.token_id
  pm_api_token_secret = var.token_secret
  pm_tls_insecure     = true
  pm_log_enable       = false
  pm_debug            = false
}

locals {
  servers = yamldecode(file("${path.module}/servers.yaml"))
}

module "server" {
  source    = "./modules/server"
  for_each  = { for server in local.servers : server.name => server }
  providers = { proxmox = proxmox.lab }

  name   = each.key
  server = each.value
}

# The oldest one, made before there were templates.
resource "proxmox_vm_qemu" "router" {
  provider        = proxmox.lab
  name            = "router"
  target_node     = "pve2"
  vmid            = 769
  memory          = 512
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  boot            = "order=ide2;scsi0"
  scsihw          = "virtio-scsi-pci"
  tags            = join(",", ["lab", "router"])

  cpu {
    cores = 1
    type  = "host"
  }

  dynamic "network" {
    for_each = [0, 1]
    content {
      id     = network.value
      model  = "virtio"
      bridge = "vmbr${network.value}"
    }
  }

  disk {
    slot    = "scsi0"
    storage = "nfs"
    size    = "2G"
    format  = "qcow2"
  }
  disk {
    slot = "ide2"
    type = "cdrom"
    iso  = "nfs:iso/talos-v1.12.4-metal-amd64.iso"
  }
}

output "addresses" {
  value = { for name, server in module.server : name => server.node }
}
