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
  pm_parallel         = 8
}

# One clone of a template, with what nearly everybody sets.
resource "proxmox_vm_qemu" "web" {
  name               = "web"
  description        = "The first one."
  target_node        = "pve1"
  vmid               = 601
  clone              = "ubuntu-24.04"
  full_clone         = true
  agent              = 1
  memory             = 2048
  balloon            = 1024
  scsihw             = "virtio-scsi-single"
  boot               = "order=scsi0"
  start_at_node_boot = true
  os_type            = "cloud-init"
  ciuser             = "ops"
  cipassword         = "correct horse battery"
  ciupgrade          = false
  sshkeys            = <<-EOT
    ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 ops@lab
  EOT
  nameserver         = "10.0.0.53 10.0.0.54"
  searchdomain       = "lab.example"
  ipconfig0          = "ip=10.10.0.21/24,gw=10.10.0.1"
  skip_ipv6          = true
  clone_wait         = 0
  additional_wait    = 0
  tags               = "web;a"
  automatic_reboot   = false

  cpu {
    cores   = 2
    sockets = 1
    type    = "x86-64-v2-AES"
  }

  startup_shutdown {
    order            = 2
    startup_delay    = 10
    shutdown_timeout = 30
  }

  network {
    id       = 0
    model    = "virtio"
    bridge   = "vmbr0"
    firewall = true
  }

  disks {
    scsi {
      scsi0 {
        disk {
          storage    = "local-lvm"
          size       = "8G"
          cache      = "writeback"
          discard    = true
          iothread   = true
          emulatessd = true
        }
      }
    }
    ide {
      ide2 {
        cloudinit {
          storage = "local-lvm"
        }
      }
    }
  }

  serial {
    id   = 0
    type = "socket"
  }

  vga {
    type = "serial0"
  }
}

# Stopped, made without a template, with the disks of the other spelling.
resource "proxmox_vm_qemu" "disks" {
  name            = "disks"
  target_node     = "pve1"
  vmid            = 602
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  pool            = "lab"
  scsihw          = "virtio-scsi-single"
  qemu_os         = "l26"
  boot            = "order=scsi0;net0"
  protection      = false
  tablet          = false
  hotplug         = "network,disk,usb"
  bios            = "seabios"

  cpu {
    cores   = 4
    sockets = 2
    limit   = 2
    units   = 200
    numa    = true
    vcores  = 6
  }

  disk {
    slot               = "scsi0"
    type               = "disk"
    storage            = "local-lvm"
    size               = "4G"
    backup             = false
    replicate          = false
    serial             = "DISK-0"
    asyncio            = "io_uring"
    mbps_r_concurrent  = 100
    mbps_wr_concurrent = 50
    mbps_r_burst       = 200
    mbps_wr_burst      = 80
    iops_r_concurrent  = 1000
    iops_wr_concurrent = 500
    iops_r_burst       = 2000
    iops_wr_burst      = 900
  }
  disk {
    slot    = "virtio1"
    type    = "disk"
    storage = "nfs"
    format  = "qcow2"
    size    = "2G"
  }
  disk {
    slot = "ide2"
    type = "cdrom"
    iso  = "local:iso/debian-13.1.0-amd64-netinst.iso"
  }
  disk {
    slot = "ide3"
    type = "cdrom"
  }

  network {
    id        = 0
    model     = "virtio"
    bridge    = "vmbr0"
    macaddr   = "BC:24:11:60:60:01"
    tag       = 30
    mtu       = 1400
    queues    = 2
    rate      = 10
    link_down = true
  }
  network {
    id     = 2
    model  = "e1000"
    bridge = "vmbr1"
  }
}

resource "proxmox_vm_qemu" "firmware" {
  name            = "firmware"
  target_node     = "pve1"
  vmid            = 603
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  bios            = "ovmf"
  machine         = "q35"
  scsihw          = "virtio-scsi-pci"

  cpu {
    cores = 1
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
  rng {
    source = "/dev/urandom"
    limit  = 1024
    period = 1000
  }
  smbios {
    family       = "lab"
    manufacturer = "Example"
    product      = "Machine"
    serial       = "0001"
    sku          = "A-1"
    version      = "1.0"
  }
  disks {
    virtio {
      virtio0 {
        disk {
          storage = "local-lvm"
          size    = "2G"
        }
      }
    }
  }
}

resource "proxmox_vm_qemu" "devices" {
  name            = "devices"
  target_node     = "pve1"
  vmid            = 604
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  machine         = "q35"

  cpu {
    cores = 1
  }
  pci {
    id          = 0
    mapping_id  = "gpu"
    pcie        = true
    primary_gpu = false
    rombar      = true
  }
  usb {
    id         = 0
    mapping_id = "stick"
    usb3       = true
  }
  vga {
    type   = "qxl"
    memory = 32
  }
  serial {
    id   = 0
    type = "socket"
  }
  disks {
    sata {
      sata0 {
        cdrom {
          iso = "local:iso/debian-13.1.0-amd64-netinst.iso"
        }
      }
      sata1 {
        disk {
          storage = "local-lvm"
          size    = "1G"
        }
      }
    }
  }
}

resource "proxmox_vm_qemu" "linked" {
  name            = "linked"
  target_node     = "pve2"
  vmid            = 605
  clone_id        = 9010
  full_clone      = false
  memory          = 2048
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  scsihw          = "virtio-scsi-single"
  agent           = 0

  cpu {
    cores = 2
  }
  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }
  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
  }
  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
}
