# Disks on every bus, as blocks by their slots.
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


resource "proxmox_vm_qemu" "buses" {
  name            = "buses"
  target_node     = "pve1"
  vmid            = 1531
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  scsihw          = "virtio-scsi-single"
  boot            = "order=virtio0;ide2"

  disks {
    ide {
      ide2 {
        cdrom {
          iso = "local:iso/debian-13.1.0-amd64-netinst.iso"
        }
      }
      ide3 {
        cloudinit {
          storage = "local-lvm"
        }
      }
    }
    sata {
      sata0 {
        disk {
          storage = "local-lvm"
          size    = "2G"
        }
      }
    }
    scsi {
      scsi0 {
        disk {
          storage    = "local-lvm"
          size       = "3G"
          emulatessd = true
          iothread   = true
        }
      }
      scsi5 {
        disk {
          storage = "nfs"
          size    = "1G"
          format  = "qcow2"
          backup  = false
        }
      }
    }
    virtio {
      virtio0 {
        disk {
          storage = "local-lvm"
          size    = "4G"
          cache   = "writeback"
        }
      }
    }
  }
}
