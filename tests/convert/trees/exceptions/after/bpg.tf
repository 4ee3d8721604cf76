resource "proxwright_vm" "older" {
  name = "older"
  vmid = 811
  node = "pve1"

  disks = {
    scsi0 = {
      storage     = "local-lvm"
      import_from = proxwright_image.debian.id
      size        = "8GiB"
    }
  }
  guest      = "cloud-init"
  cloud_init = { dns = { servers = ["10.0.0.53"] } }
  nics       = { net0 = { bridge = "vmbr0", mac = "BC:24:11:00:00:01" } }
  smbios     = { sku = "small" }
  vga        = { type = "std" }
}

resource "proxwright_image" "debian" {
  content = "iso"
  storage = "local"
  node    = "pve1"
  file    = "debian-13.img"
  url     = "https://images.example.org/debian-13.qcow2"
}

resource "proxwright_template" "newer_template" {
  name = "newer-template"
  vmid = 812
  node = "pve1"
  disks = {
    scsi0 = { storage = "local-lvm", import_from = proxwright_image.debian.id }
  }
}

resource "proxwright_vm" "imported" {
  name = "imported"
  vmid = 813
  node = "pve1"
  disks = {
    scsi0 = { storage = "local-lvm", import_from = proxwright_image.debian.id }
  }
  # Not translated: Proxwright does not attach volumes that exist. The VM keeps the disk if you leave its slot out.
  # file = "local-lvm:vm-813-disk-7"
}

resource "proxwright_vm" "from_a_snapshot" {
  name = "from-a-snapshot"
  vmid = 814
  node = "pve1"

  clone = { template = "9000" }
  # Not translated: Proxwright clones templates, not snapshots of them.
  # snapshot_name = "clean"
}
