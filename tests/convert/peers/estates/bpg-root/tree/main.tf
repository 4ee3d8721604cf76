terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "endpoint" {}
variable "root_password" { sensitive = true }

# What only root may set, and no token of root.
provider "proxmox" {
  endpoint = var.endpoint
  username = "root@pam"
  password = var.root_password
  insecure = true
}

resource "proxmox_virtual_environment_vm" "tuned" {
  name          = "tuned"
  node_name     = "pve1"
  vm_id         = 711
  started       = false
  kvm_arguments = "-device virtio-balloon"
  cpu {
    cores        = 4
    affinity     = "0-3"
    architecture = "x86_64"
    numa         = true
  }
  memory {
    dedicated      = 2048
    hugepages      = "2"
    keep_hugepages = true
    shared         = 64
  }
}

resource "proxmox_virtual_environment_vm" "hooked" {
  name                = "hooked"
  node_name           = "pve1"
  vm_id               = 712
  started             = false
  hook_script_file_id = "local:snippets/hook.pl"
}

resource "proxmox_virtual_environment_vm" "card" {
  name      = "card"
  node_name = "pve1"
  vm_id     = 713
  started   = false
  machine   = "q35"
  hostpci {
    device   = "hostpci0"
    mapping  = "gpu"
    rom_file = "card.rom"
    pcie     = true
  }
  usb {
    host = "1-2"
    usb3 = true
  }
}

resource "proxmox_virtual_environment_vm" "raw_card" {
  name      = "raw-card"
  node_name = "pve1"
  vm_id     = 714
  started   = false
  hostpci {
    device = "hostpci0"
    id     = "0000:01:00"
  }
}

resource "proxmox_virtual_environment_vm" "data" {
  name      = "data"
  node_name = "pve1"
  vm_id     = 715
  started   = false
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 1
  }
}

# Uses the disk of the other one.
resource "proxmox_virtual_environment_vm" "attached" {
  name       = "attached"
  node_name  = "pve1"
  vm_id      = 716
  started    = false
  depends_on = [proxmox_virtual_environment_vm.data]
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 1
  }
  disk {
    interface         = "scsi1"
    datastore_id      = "local-lvm"
    path_in_datastore = "vm-715-disk-0"
    size              = 1
  }
}

resource "proxmox_virtual_environment_vm" "sev" {
  name      = "sev"
  node_name = "pve1"
  vm_id     = 706
  started   = false
  bios      = "ovmf"
  machine   = "q35"
  efi_disk {
    datastore_id = "local-lvm"
  }
  amd_sev {
    type          = "snp"
    allow_smt     = true
    kernel_hashes = true
    no_debug      = true
  }
}

resource "proxmox_virtual_environment_vm" "older_sev" {
  name      = "older-sev"
  node_name = "pve1"
  vm_id     = 707
  started   = false
  bios      = "ovmf"
  efi_disk {
    datastore_id = "local-lvm"
  }
  amd_sev {
    type           = "std"
    no_key_sharing = true
  }
}

resource "proxmox_virtual_environment_cloned_vm" "tuned_clone" {
  id        = 719
  name      = "tuned-clone"
  node_name = "pve1"
  started   = false
  clone = {
    source_vm_id = 9000
    full         = true
  }
  cpu = {
    cores        = 2
    affinity     = "0,1"
    architecture = "x86_64"
    numa         = true
  }
  memory = {
    size           = 2048
    hugepages      = "2"
    keep_hugepages = true
  }
  stop_on_destroy = true
}
