# Half way from one provider to the other.
terraform {
  required_providers {
    proxmox = { source = "telmate/proxmox" }
    bpg     = { source = "bpg/proxmox" }
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

provider "bpg" {
  endpoint  = var.endpoint
  api_token = "${var.token_id}=${var.token_secret}"
  insecure  = true
}

resource "proxmox_vm_qemu" "old" {
  name            = "old"
  target_node     = "pve1"
  vmid            = 771
  memory          = 1024
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    cores = 1
  }
  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "1G"
  }
}

resource "proxmox_virtual_environment_vm" "new" {
  provider  = bpg
  name      = "new"
  node_name = "pve1"
  vm_id     = proxmox_vm_qemu.old.vmid + 1
  started   = false
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 1
  }
}

# Stays with its provider.
resource "proxmox_virtual_environment_pool" "team" {
  provider = bpg
  comment  = "VM ${proxmox_virtual_environment_vm.new.vm_id}"
  pool_id  = "team"
}
