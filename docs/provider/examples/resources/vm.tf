# A clone of a template with a disk on scsi0 and a cloud-init drive.
resource "proxwright_vm" "web" {
  name = "web-1"
  node = "pve1"

  clone = {
    template = "ubuntu-24.04"
    storage  = "local-lvm"
  }

  guest  = "cloud-init"
  cpu    = { cores = 4, type = "host" }
  memory = "8GiB"
  agent  = { enabled = true }
  tags   = ["web", "prod"]

  disks = {
    scsi0 = { size = "100GiB", discard = true, ssd = true }
    scsi1 = { size = "200GiB", storage = "local-lvm" }
  }

  nics = {
    net0 = {
      bridge = "vmbr1"
      vlan   = 20
      ipv4   = { address = "10.0.20.11/24", gateway = "10.0.20.1" }
    }
  }

  cloud_init = {
    user     = "ops"
    ssh_keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2FZ0gqvKQMlVZ9dJVQUKKGVV4u8fXmh4JvkQeS0GbW ops@example"]
    dns      = { servers = ["10.0.20.1"], domain = "example.org" }
  }

  ready = { pings = 3, settle = "30s" }
}

# A VM that boots an installation medium.
resource "proxwright_vm" "installer" {
  name   = "installer"
  node   = "pve1"
  bios   = "ovmf"
  memory = "4GiB"
  boot   = ["scsi0", "ide2"]

  efi = { storage = "local-lvm", secure_boot = true }

  disks = {
    scsi0 = { size = "32GiB", storage = "local-lvm" }
    ide2  = { iso = "local:iso/debian.iso" }
  }

  nics = {
    net0 = { bridge = "vmbr0" }
  }
}
