# Spellings of earlier releases, and attributes that only some hosts have.
resource "proxmox_vm_qemu" "installed_from_cd" {
  name                      = "installed-from-cd"
  vmid                      = 801
  target_node               = "pve1"
  iso                       = "local:iso/debian-13.iso"
  cloudinit_cdrom_storage   = "local-lvm"
  guest_agent_ready_timeout = 90
  oncreate                  = false
  hastate                   = "started"
  hagroup                   = "fast-nodes"

  disk {
    type    = "scsi"
    slot    = 0
    storage = "local-lvm"
    size    = "10G"
    ssd     = 1
    aio     = "native"
  }
  usb {
    host = "spice"
    usb3 = true
  }
}

resource "proxmox_vm_qemu" "with_physical_drives" {
  name        = "with-physical-drives"
  vmid        = 802
  target_node = "pve1"

  disks {
    scsi {
      scsi0 {
        disk {
          storage = "local-lvm"
          size    = "10G"
          ssd     = 1
          aio     = "io_uring"
          wwn     = "0x5000c500a1b2c3d4"
        }
      }
      scsi1 {
        passthrough {
          file = "/dev/disk/by-id/ata-drive"
        }
      }
    }
  }
}

resource "proxmox_vm_qemu" "with_a_physical_drive" {
  name        = "with-a-physical-drive"
  vmid        = 803
  target_node = "pve1"

  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "10G"
  }
  disk {
    slot        = "scsi1"
    type        = "disk"
    passthrough = true
    disk_file   = "/dev/disk/by-id/ata-drive"
  }
}
