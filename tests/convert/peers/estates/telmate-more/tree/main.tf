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
  pm_parallel         = 4
  pm_timeout          = 600
}

# Every option of a disk, in both spellings.
resource "proxmox_vm_qemu" "nested_disks" {
  name            = "nested-disks"
  vmid            = 731
  target_node     = "pve1"
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  scsihw          = "virtio-scsi-single"

  cpu {
    cores = 2
    flags {
      aes         = "on"
      pcid        = "off"
      spec_ctrl   = "on"
      ssbd        = "on"
      ibpb        = "off"
      virt_ssbd   = "on"
      amd_ssbd    = "on"
      amd_no_ssb  = "off"
      md_clear    = "on"
      hv_tlbflush = "on"
      hv_evmcs    = "off"
      pbpe1gb     = "on"
    }
  }
  disks {
    scsi {
      scsi0 {
        disk {
          storage              = "nfs"
          size                 = "2G"
          format               = "qcow2"
          backup               = false
          replicate            = false
          serial               = "DISK-0"
          readonly             = true
          asyncio              = "threads"
          mbps_r_concurrent    = 100
          mbps_wr_concurrent   = 50
          mbps_r_burst         = 200
          mbps_wr_burst        = 80
          iops_r_concurrent    = 1000
          iops_wr_concurrent   = 500
          iops_r_burst         = 2000
          iops_r_burst_length  = 60
          iops_wr_burst        = 900
          iops_wr_burst_length = 30
        }
      }
      scsi2 {
        ignore = true
      }
    }
    ide {
      ide2 {
        cdrom {
          iso = "local:iso/debian-13.1.0-amd64-netinst.iso"
        }
      }
    }
  }
  efidisk {
    storage = "nfs"
    efitype = "4m"
    format  = "raw"
  }
  bios = "ovmf"
}

resource "proxmox_vm_qemu" "flat_disks" {
  name            = "flat-disks"
  vmid            = 732
  target_node     = "pve1"
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  scsihw          = "virtio-scsi-single"

  cpu {
    cores = 1
  }
  disk {
    slot                 = "scsi0"
    type                 = "disk"
    storage              = "local-lvm"
    size                 = "2G"
    cache                = "writeback"
    discard              = true
    emulatessd           = true
    iothread             = true
    readonly             = true
    wwn                  = "0x500080DC3A4B5C6E"
    iops_r_concurrent    = 1000
    iops_wr_concurrent   = 500
    iops_r_burst         = 2000
    iops_r_burst_length  = 60
    iops_wr_burst        = 900
    iops_wr_burst_length = 30
  }
}

resource "proxmox_vm_qemu" "cards" {
  name            = "cards"
  vmid            = 733
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
      mapping {
        mapping_id    = "gpu"
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
      mapping {
        mapping_id = "stick"
        usb3       = true
      }
    }
    usb1 {
      spice {
        usb3 = true
      }
    }
  }
}

resource "proxmox_vm_qemu" "card" {
  name            = "card"
  vmid            = 734
  target_node     = "pve1"
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  machine         = "q35"

  cpu {
    cores = 1
  }
  pci {
    id            = 1
    mapping_id    = "gpu"
    mdev          = "nvidia-63"
    device_id     = "0x2204"
    vendor_id     = "0x10de"
    sub_device_id = "0x403b"
    sub_vendor_id = "0x1458"
  }
}

resource "proxmox_vm_qemu" "snippets" {
  name            = "snippets"
  vmid            = 735
  target_node     = "pve1"
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  cicustom        = "user=local:snippets/user.yaml,network=local:snippets/network.yaml,meta=local:snippets/meta.yaml,vendor=local:snippets/vendor.yaml"
  ipconfig0       = "ip=10.10.0.51/24,gw=10.10.0.1"
  ipconfig1       = "ip=dhcp,ip6=auto"
  ci_wait         = 1
  force_create    = false

  define_connection_info = false

  cpu {
    cores = 1
  }
  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }
  network {
    id     = 1
    model  = "virtio"
    bridge = "vmbr1"
  }
  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
  smbios {
    uuid   = "5f2b1c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d"
    serial = "0002"
  }
}

resource "proxmox_vm_qemu" "available" {
  name            = "available"
  vmid            = 736
  target_nodes    = ["pve1"]
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  hastate         = "stopped"
  kvm             = true
  agent_timeout   = 60
  skip_ipv4       = true

  force_recreate_on_change_of = "1"
  automatic_reboot_severity   = "error"

  cpu {
    cores = 1
  }
  timeouts {
    create  = "20m"
    read    = "5m"
    update  = "10m"
    delete  = "5m"
    default = "10m"
  }
}
