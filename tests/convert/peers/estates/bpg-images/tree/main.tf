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

resource "proxmox_virtual_environment_download_file" "ubuntu" {
  content_type       = "import"
  datastore_id       = "local"
  node_name          = "pve1"
  url                = "https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img"
  file_name          = "noble.qcow2"
  checksum           = "7e2a1c0b5d4f4a3f9c8b7a6d5e4f3c2b1a0f9e8d7c6b5a493827160504938271"
  checksum_algorithm = "sha256"
  upload_timeout     = 900
  overwrite          = false
}

resource "proxmox_virtual_environment_download_file" "talos" {
  content_type = "iso"
  datastore_id = "nfs"
  node_name    = "pve1"
  url          = "https://github.com/siderolabs/talos/releases/download/v1.12.4/metal-amd64.iso"
  file_name    = "talos.iso"
  overwrite    = false
}

resource "proxmox_virtual_environment_vm" "template" {
  name      = "noble-template"
  node_name = "pve1"
  vm_id     = 571
  template  = true
  started   = false
  tags      = ["template"]

  cpu {
    cores = 2
    type  = "x86-64-v2-AES"
  }
  memory {
    dedicated = 2048
  }
  disk {
    interface    = "virtio0"
    datastore_id = "local-lvm"
    import_from  = proxmox_virtual_environment_download_file.ubuntu.id
    size         = 8
    discard      = "on"
  }
  network_device {
    bridge = "vmbr0"
  }
  initialization {
    datastore_id = "local-lvm"
    ip_config {
      ipv4 {
        address = "dhcp"
      }
    }
  }
}

resource "proxmox_virtual_environment_vm" "from_template" {
  count     = 2
  name      = "noble-${count.index}"
  node_name = "pve1"
  vm_id     = 572 + count.index
  started   = false
  clone {
    vm_id = proxmox_virtual_environment_vm.template.vm_id
    full  = true
  }
}

resource "proxmox_virtual_environment_vm" "installer" {
  name       = "installer"
  node_name  = "pve1"
  vm_id      = 575
  started    = false
  boot_order = ["ide2"]
  cdrom {
    interface = "ide2"
    file_id   = proxmox_virtual_environment_download_file.talos.id
  }
}
