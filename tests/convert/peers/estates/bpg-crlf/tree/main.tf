# Written on Windows.
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


resource "proxmox_virtual_environment_vm" "windows" {
	name      = "from-windows"	# a tab before this
	node_name = "pve1"
	vm_id     = 1501
	started   = false
	description = "First line\nsecond line"
	cpu { cores = 2 }
	/* The disk
	   of the system. */
	disk {
		interface    = "scsi0"
		datastore_id = "local-lvm"
		size         = 4
	}
	network_device {} // lan
}
