# Spellings of earlier releases, and attributes that only some hosts have.
resource "proxwright_vm" "installed_from_cd" {
  name = "installed-from-cd"
  vmid = 801
  node = "pve1"
  # Not translated: Write a CD drive: `disks = { ide2 = { iso = … } }`.
  # iso                       = "local:iso/debian-13.iso"
  guest      = "cloud-init"
  cloud_init = { storage = "local-lvm" }
  timeouts   = { ready = "90s" }
  ha         = { state = "started", group = "fast-nodes" }

  disks = {
    scsi0 = { storage = "local-lvm", size = "10G", ssd = true, aio = "native" }
  }
  usb = { usb0 = { spice = true, usb3 = true } }
}

resource "proxwright_vm" "with_physical_drives" {
  name = "with-physical-drives"
  vmid = 802
  node = "pve1"

  disks = {
    scsi0 = {
      storage = "local-lvm"
      size    = "10G"
      ssd     = true
      aio     = "io_uring"
      wwn     = "0x5000c500a1b2c3d4"
    }
  }
  # Not translated: Proxwright attaches no devices of the host as disks. The VM keeps the disk if you leave its slot out.
  # passthrough {
  #   file = "/dev/disk/by-id/ata-drive"
  # }
}

resource "proxwright_vm" "with_a_physical_drive" {
  name = "with-a-physical-drive"
  vmid = 803
  node = "pve1"

  disks = { scsi0 = { storage = "local-lvm", size = "10G" } }
  # Not translated: Proxwright attaches no devices of the host as disks. The VM keeps the disk if you leave its slot out.
  # passthrough = true
  # Not translated: Proxwright attaches no devices of the host as disks. The VM keeps the disk if you leave its slot out.
  # disk_file   = "/dev/disk/by-id/ata-drive"
}
