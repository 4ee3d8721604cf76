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

# In the words of earlier releases, which this one still takes.
resource "proxmox_vm_qemu" "top_level_cpu" {
  name            = "top-level-cpu"
  desc            = "From 2.9."
  vmid            = 741
  target_node     = "pve1"
  memory          = 1024
  cores           = 4
  sockets         = 2
  vcpus           = 6
  numa            = true
  cpu_type        = "x86-64-v2-AES"
  onboot          = true
  clone_wait      = 0
  additional_wait = 0
  power_state     = "stopped"
  bootdisk        = "scsi0"

  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "2G"
  }
}

resource "proxmox_vm_qemu" "installer" {
  name            = "installer"
  vmid            = 742
  target_node     = "pve1"
  memory          = 1024
  pxe             = true
  boot            = "order=net0"
  startup         = "order=3,up=20,down=40"
  os_type         = "ubuntu"
  ssh_user        = "ops"
  ssh_forward_ip  = "10.0.0.1"
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    cores = 1
  }
  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }
}

resource "proxmox_vm_qemu" "prepared" {
  name            = "prepared"
  vmid            = 743
  target_node     = "pve1"
  memory          = 1024
  clone           = "talos-v1.12.4-base"
  full_clone      = true
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  scsihw          = "virtio-scsi-single"

  os_network_config = "auto eth0"
  ssh_private_key   = "not a key"

  cpu {
    cores = 1
  }
  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
  }
}
