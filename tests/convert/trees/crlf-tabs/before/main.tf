# Lab
terraform {
	required_providers {
		proxmox = {
			source  = "bpg/proxmox"
			version = ">= 0.60"
		}
	}
}

provider "proxmox" {
	endpoint = "https://pve.lab:8006/"
	insecure = true
	ssh {
		agent = true
	}
}

resource "proxmox_virtual_environment_file" "user" {
	content_type = "snippets"
	datastore_id = "local"
	node_name    = "pve1"
	source_raw {
		file_name = "user.yaml"
		data = <<-EOT
		#cloud-config
		packages:
		  - qemu-guest-agent
		EOT
	}
}

resource "proxmox_virtual_environment_vm" "win" {
	name      = "win"		# tab before this
	node_name = "pve1"
	description = <<EOT
Line one
	Line two
EOT
	unknown_thing = {
		a = 1
	}
	cpu { cores = 2 }
	disk {
		interface = "scsi0"
		size      = 20
		datastore_id = "local-lvm"
	}
	initialization {
		user_data_file_id = proxmox_virtual_environment_file.user.id
	}
}

output "ip" {
	value = proxmox_virtual_environment_vm.win.ipv4_addresses[1][0]
}
