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

# What is set less often.
resource "proxmox_virtual_environment_vm" "snippets" {
  name      = "snippets"
  node_name = "pve1"
  vm_id     = 701
  started   = false

  network_device {
    bridge = "vmbr0"
  }
  initialization {
    datastore_id         = "local-lvm"
    file_format          = "raw"
    user_data_file_id    = "local:snippets/user.yaml"
    network_data_file_id = "local:snippets/network.yaml"
    meta_data_file_id    = "local:snippets/meta.yaml"
    vendor_data_file_id  = "local:snippets/vendor.yaml"
  }
}

resource "proxmox_virtual_environment_vm" "restarts" {
  name                = "restarts"
  node_name           = "pve1"
  vm_id               = 703
  reboot              = true
  reboot_after_update = true
  stop_on_destroy     = true
  clone {
    vm_id     = 9000
    node_name = "pve1"
    full      = true
  }
  agent {
    enabled = true
    wait_for_ip {
      ipv4     = true
      ipv6     = false
      disabled = false
    }
  }
}

resource "proxmox_virtual_environment_vm" "disk_of_image" {
  name      = "disk-of-image"
  node_name = "pve1"
  vm_id     = 704
  started   = false
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = "local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2"
    size         = 5
    queues       = 4
  }
  cdrom {
    enabled = true
    file_id = "none"
  }
}

resource "proxmox_virtual_environment_vm" "screen" {
  name      = "screen"
  node_name = "pve1"
  vm_id     = 705
  started   = false
  bios      = "ovmf"
  efi_disk {
    datastore_id = "nfs"
    file_format  = "raw"
  }
  vga {
    type      = "virtio"
    clipboard = "vnc"
  }
  audio_device {
    enabled = true
    device  = "ich9-intel-hda"
  }
  smbios {
    uuid = "3f2b1c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d"
  }
  watchdog {
    enabled = true
    action  = "poweroff"
  }
  hostpci {
    device  = "hostpci0"
    mapping = "gpu"
    mdev    = "nvidia-63"
  }
}
