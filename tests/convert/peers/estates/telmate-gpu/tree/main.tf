# A card, EFI variables and a TPM.
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


resource "proxmox_vm_qemu" "gpu" {
  count           = 1
  name            = "gpu-${count.index}"
  target_node     = "pve1"
  vmid            = 1541 + count.index
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0
  machine         = "q35"
  bios            = "ovmf"
  memory          = 8192
  balloon         = 0
  qemu_os         = "win11"

  cpu {
    cores = 8
    type  = "host"
    numa  = true
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
  pci {
    id          = 0
    mapping_id  = "gpu"
    pcie        = true
    primary_gpu = true
  }
  vga {
    type = "none"
  }
  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "10G"
  }
}
