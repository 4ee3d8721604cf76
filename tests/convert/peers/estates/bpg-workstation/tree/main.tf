# A workstation with a card, EFI variables, a TPM and an installer.
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


resource "proxmox_virtual_environment_vm" "workstation" {
  name          = "workstation"
  node_name     = "pve1"
  vm_id         = 1431
  started       = false
  machine       = "q35"
  bios          = "ovmf"
  scsi_hardware = "virtio-scsi-single"
  boot_order    = ["scsi0", "ide3"]
  tablet_device = false

  operating_system {
    type = "win11"
  }
  cpu {
    type  = "host"
    cores = 8
    numa  = true
  }
  memory {
    dedicated = 16384
    floating  = 0
  }
  efi_disk {
    datastore_id      = "local-lvm"
    type              = "4m"
    pre_enrolled_keys = true
  }
  tpm_state {
    datastore_id = "local-lvm"
    version      = "v2.0"
  }
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 20
    iothread     = true
    ssd          = true
    discard      = "on"
  }
  cdrom {
    file_id = "local:iso/debian-13.1.0-amd64-netinst.iso"
  }
  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:14:31:00"
  }
  hostpci {
    device  = "hostpci0"
    mapping = "gpu"
    pcie    = true
    rombar  = true
    xvga    = true
  }
  usb {
    mapping = "stick"
    usb3    = true
  }
  audio_device {
    device = "ich9-intel-hda"
  }
  vga {
    type = "none"
  }
}
