terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}

variable "endpoint" {}
variable "root_password" { sensitive = true }

provider "proxmox" {
  pm_api_url      = "${var.endpoint}/api2/json"
  pm_user         = "root@pam"
  pm_password     = var.root_password
  pm_tls_insecure = true
  pm_parallel     = 4
  pm_timeout      = 600
}

resource "proxmox_vm_qemu" "tuned" {
  name            = "tuned"
  vmid            = 751
  target_node     = "pve1"
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  args            = "-device virtio-balloon"

  cpu {
    cores    = 2
    affinity = "0-1"
  }
  usb {
    id      = 0
    port_id = "1-2"
    usb3    = true
  }
  usb {
    id        = 1
    device_id = "0951:1666"
  }
}

resource "proxmox_vm_qemu" "raw" {
  name            = "raw"
  vmid            = 752
  target_node     = "pve1"
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  machine         = "q35"

  cpu {
    cores = 1
  }
  pcis {
    pci0 {
      raw {
        raw_id        = "0000:01:00"
        pcie          = true
        primary_gpu   = true
        rombar        = true
        mdev          = "nvidia-63"
        device_id     = "0x2204"
        vendor_id     = "0x10de"
        sub_device_id = "0x403b"
        sub_vendor_id = "0x1458"
      }
    }
  }
  usbs {
    usb0 {
      device {
        device_id = "0951:1666"
      }
    }
    usb1 {
      port {
        port_id = "1-2"
        usb3    = true
      }
    }
  }
}

resource "proxmox_vm_qemu" "raw_list" {
  name            = "raw-list"
  vmid            = 753
  target_node     = "pve1"
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    cores = 1
  }
  pci {
    id     = 0
    raw_id = "0000:01:00"
  }
  disk {
    slot        = "ide2"
    type        = "cdrom"
    passthrough = true
  }
}

resource "proxmox_vm_qemu" "older_list" {
  name            = "older-list"
  vmid            = 754
  target_node     = "pve1"
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    cores = 1
  }
  hostpci {
    host   = "0000:01:00"
    pcie   = 0
    rombar = 1
  }
  disks {
    ide {
      ide2 {
        cdrom {
          passthrough = true
        }
      }
    }
  }
}
