terraform {
  required_providers {
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
    }
  }
}
resource "proxwright_vm" "node" {
  count           = 3
  name            = "node-${count.index}"
  node            = "pve2"
  clone           = { template = "debian-12", mode = "linked" }
  memory          = "4GiB"
  agent           = { enabled = true }
  boot            = ["scsi0", "net0"]
  scsi_controller = "virtio-scsi-single"
  guest           = "cloud-init"
  nics = {
    net0 = {
      model  = "virtio"
      bridge = "vmbr0"
      vlan   = 20
      ipv4   = { address = "10.0.1.${count.index + 10}/24", gateway = "10.0.1.1" }
    }
  }
  cloud_init = {
    dns      = { servers = ["1.1.1.1", "8.8.8.8"] }
    ssh_keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 a", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 b"]
    storage  = "local-lvm"
    slot     = "ide2"
  }
  tags  = ["a", "b"]
  cpu   = { cores = 4, sockets = 1 }
  disks = { scsi0 = { storage = "local-lvm", size = "32G", ssd = true } }
}
output "ips" { value = proxwright_vm.node[*].primary_address }

provider "proxwright" {
  endpoint = "https://pve1.example.org:8006"
  token    = "deploy@pve!tf=${var.secret}"
}

variable "secret" { sensitive = true }
variable "ip" { default = "ip=10.0.1.50/24,gw=10.0.1.1" }

resource "proxwright_vm" "db" {
  name  = "db"
  node  = "pve1"
  clone = { template = "debian-12" }
  nics = {
    net0 = {
      ipv4 = can(regex("(?:^|,)ip=", var.ip)) ? { address = try(regex("(?:^|,)ip=([^,]+)", var.ip)[0], null), gateway = try(regex("(?:^|,)gw=([^,]+)", var.ip)[0], null) } : null
      ipv6 = can(regex("(?:^|,)ip6=", var.ip)) ? { address = try(regex("(?:^|,)ip6=([^,]+)", var.ip)[0], null), gateway = try(regex("(?:^|,)gw6=([^,]+)", var.ip)[0], null) } : null
    }
  }
  guest      = "cloud-init"
  cloud_init = { snippets = { user = "local:snippets/db.yaml" }, password_wo = var.secret }
  disks      = { virtio0 = { storage = "ceph", size = "10G" } }
  pci        = { hostpci0 = { mapping = "gpu", pcie = true } }
  serial     = { serial0 = "socket" }
  startup    = { order = 2, down = "60s" }
  # Not translated: Use `lifecycle { replace_triggered_by = [ … ] }`.
  # force_recreate_on_change_of = "x"
}
