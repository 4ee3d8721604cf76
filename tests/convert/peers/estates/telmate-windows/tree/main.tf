# Windows with UEFI, TPM and a CD of drivers, and the older BIOS beside it.
terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  pm_api_url          = "${var.endpoint}/api2/json"
  pm_api_token_id     = var.token_id
  pm_api_token_secret = var.token_secret
  pm_tls_insecure     = true
}

variable "desktops" {
  type    = list(string)
  default = ["anna", "bernd"]
}

resource "proxmox_vm_qemu" "desktop" {
  count           = length(var.desktops)
  name            = "win-${var.desktops[count.index]}"
  target_node     = count.index % 2 == 0 ? "pve1" : "pve2"
  vmid            = "${2120 + count.index}"
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  bios            = "ovmf"
  machine         = "q35"
  qemu_os         = "win11"
  memory          = "4096"
  balloon         = "0"
  agent           = 1
  scsihw          = "virtio-scsi-single"
  boot            = "order=scsi0"
  tablet          = true
  hotplug         = "disk,network,usb"

  cpu {
    cores   = 4
    sockets = 1
    type    = "host"
  }
  efidisk {
    storage           = "local-lvm"
    efitype           = "4m"
    pre_enrolled_keys = true
  }
  tpm_state {
    storage = "local-lvm"
    version = "v2.0"
  }
  vga {
    type   = "qxl"
    memory = 32
  }
  network {
    id       = 0
    model    = "e1000e"
    bridge   = "vmbr0"
    firewall = true
  }
  disks {
    scsi {
      scsi0 {
        disk {
          storage    = "local-lvm"
          size       = "16G"
          iothread   = true
          emulatessd = true
          discard    = true
        }
      }
    }
    sata {
      sata0 {
        cdrom {}
      }
    }
  }
}

resource "proxmox_vm_qemu" "old" {
  name            = "win-old"
  target_node     = "pve1"
  vmid            = 2125
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  qemu_os         = "win7"
  memory          = 2048
  bios            = "seabios"
  boot            = "order=ide0"

  cpu {
    cores = 2
    type  = "kvm64"
  }
  network {
    id     = 0
    model  = "rtl8139"
    bridge = "vmbr0"
  }
  disk {
    slot    = "ide0"
    storage = "local-lvm"
    size    = "8G"
  }
}
