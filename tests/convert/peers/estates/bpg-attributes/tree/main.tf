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
  min_tls   = "1.3"
}

resource "proxmox_virtual_environment_vm" "plain" {
  name            = "plain"
  description     = "A plain VM.\nOf two lines."
  node_name       = "pve1"
  vm_id           = 501
  tags            = ["web", "a"]
  pool_id         = "lab"
  on_boot         = false
  protection      = false
  started         = false
  bios            = "seabios"
  acpi            = true
  tablet_device   = false
  keyboard_layout = "de"
  scsi_hardware   = "virtio-scsi-single"
  stop_on_destroy = true
  migrate         = true

  timeout_clone       = 900
  timeout_create      = 900
  timeout_start_vm    = 120
  timeout_shutdown_vm = 60
  timeout_migrate     = 600
  timeout_move_disk   = 600
  timeout_reboot      = 300
  timeout_stop_vm     = 60

  purge_on_destroy                     = true
  delete_unreferenced_disks_on_destroy = true
}

resource "proxmox_virtual_environment_vm" "processor" {
  name      = "processor"
  node_name = "pve1"
  vm_id     = 502
  started   = false
  cpu {
    cores      = 4
    sockets    = 2
    type       = "x86-64-v2-AES"
    flags      = ["+aes", "-pcid"]
    limit      = 3
    units      = 200
    numa       = true
    hotplugged = 4
  }
  numa {
    device    = "numa0"
    cpus      = "0-3"
    memory    = 1024
    hostnodes = "0"
    policy    = "preferred"
  }
  numa {
    device = "numa1"
    cpus   = "4-7"
    memory = 1024
  }
  memory {
    dedicated = 2048
    floating  = 1024
  }
}

resource "proxmox_virtual_environment_vm" "memory" {
  name      = "memory"
  node_name = "pve1"
  vm_id     = 503
  started   = false
  memory {
    dedicated = 4096
    floating  = 0
  }
}

resource "proxmox_virtual_environment_vm" "disks" {
  name          = "disks"
  node_name     = "pve1"
  vm_id         = 504
  started       = false
  scsi_hardware = "virtio-scsi-single"
  boot_order    = ["scsi0", "net0"]

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 8
    file_format  = "raw"
    aio          = "io_uring"
    backup       = true
    cache        = "writeback"
    discard      = "on"
    iothread     = true
    replicate    = false
    serial       = "DISK-0"
    ssd          = true
  }
  disk {
    interface    = "virtio1"
    datastore_id = "local-lvm"
    size         = 4
    backup       = false
    discard      = "ignore"
    speed {
      read                 = 100
      read_burstable       = 200
      write                = 50
      write_burstable      = 80
      iops_read            = 1000
      iops_read_burstable  = 2000
      iops_write           = 500
      iops_write_burstable = 900
    }
  }
  disk {
    interface    = "sata2"
    datastore_id = "nfs"
    file_format  = "qcow2"
    size         = 2
  }
  cdrom {
    interface = "ide2"
    file_id   = "local:iso/debian-13.1.0-amd64-netinst.iso"
  }
  network_device {
    bridge = "vmbr0"
  }
}

resource "proxmox_virtual_environment_vm" "cards" {
  name      = "cards"
  node_name = "pve1"
  vm_id     = 505
  started   = false

  network_device {
    bridge      = "vmbr0"
    model       = "virtio"
    mac_address = "BC:24:11:50:50:01"
    firewall    = true
    mtu         = 1400
    queues      = 4
    rate_limit  = 12.5
    vlan_id     = 30
  }
  network_device {
    bridge       = "vmbr1"
    model        = "e1000"
    disconnected = true
    trunks       = "10;20;30"
  }
  cdrom {
    file_id = "none"
  }
}

resource "proxmox_virtual_environment_vm" "cloud_init" {
  name      = "cloud-init"
  node_name = "pve1"
  vm_id     = 506
  started   = false

  network_device {
    bridge = "vmbr0"
  }
  network_device {
    bridge = "vmbr1"
  }
  initialization {
    datastore_id = "local-lvm"
    interface    = "ide0"
    type         = "nocloud"
    upgrade      = false

    dns {
      domain  = "lab.example"
      servers = ["10.0.0.53", "10.0.0.54"]
    }
    ip_config {
      ipv4 {
        address = "10.0.0.6/24"
        gateway = "10.0.0.1"
      }
      ipv6 {
        address = "fd00::6/64"
        gateway = "fd00::1"
      }
    }
    ip_config {
      ipv4 {
        address = "dhcp"
      }
    }
    user_account {
      username = "ops"
      password = "correct horse battery"
      keys     = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 ops@lab"]
    }
  }
}

resource "proxmox_virtual_environment_vm" "firmware" {
  name      = "firmware"
  node_name = "pve1"
  vm_id     = 507
  started   = false
  bios      = "ovmf"
  machine   = "q35,viommu=virtio"

  efi_disk {
    datastore_id      = "local-lvm"
    type              = "4m"
    pre_enrolled_keys = true
  }
  tpm_state {
    datastore_id = "local-lvm"
    version      = "v2.0"
  }
  operating_system {
    type = "win11"
  }
  smbios {
    family       = "lab"
    manufacturer = "Example"
    product      = "Machine"
    serial       = "0001"
    version      = "1.0"
  }
}

resource "proxmox_virtual_environment_vm" "devices" {
  name      = "devices"
  node_name = "pve1"
  vm_id     = 508
  started   = false
  machine   = "q35"
  hotplug   = "network,disk,usb"

  agent {
    enabled = true
    trim    = true
    type    = "virtio"
    timeout = "10m"
  }
  serial_device {}
  serial_device {
    device = "socket"
  }
  vga {
    type   = "qxl"
    memory = 32
  }
  audio_device {
    device = "intel-hda"
    driver = "spice"
  }
  rng {
    source    = "/dev/urandom"
    max_bytes = 1024
    period    = 1000
  }
  watchdog {
    enabled = true
    model   = "i6300esb"
    action  = "reset"
  }
  startup {
    order      = 3
    up_delay   = 60
    down_delay = 30
  }
  usb {
    mapping = "stick"
    usb3    = true
  }
  usb {
    host = "spice"
  }
  hostpci {
    device  = "hostpci0"
    mapping = "gpu"
    pcie    = true
    rombar  = false
    xvga    = false
  }
  virtiofs {
    mapping      = "share"
    cache        = "auto"
    direct_io    = true
    expose_acl   = true
    expose_xattr = true
  }
}

resource "proxmox_virtual_environment_vm" "linked" {
  name      = "linked"
  node_name = "pve1"
  vm_id     = 509
  clone {
    vm_id = 9000
    full  = false
  }
  agent {
    enabled = true
  }
  stop_on_destroy = true
}

resource "proxmox_virtual_environment_vm" "full" {
  name      = "full"
  node_name = "pve2"
  vm_id     = 510
  clone {
    vm_id        = 9010
    datastore_id = "nfs"
    retries      = 3
  }
  cpu {
    cores = 1
  }
  disk {
    interface    = "scsi0"
    datastore_id = "nfs"
    size         = 6
  }
  started             = false
  reboot_after_update = false
}

resource "proxmox_virtual_environment_vm" "imported" {
  name      = "imported"
  node_name = "pve1"
  vm_id     = 511
  started   = false
  disk {
    interface    = "virtio0"
    datastore_id = "local-lvm"
    import_from  = "local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2"
    size         = 20
  }
}
