# Lab
terraform {
	required_providers {
		proxmox = {
			source  = "bpg/proxmox"
			version = ">= 0.60"
		}
		proxwright = {
		  source = "proxwright.dev/proxwright/proxwright"
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

provider "proxwright" {
  endpoint = "https://pve.lab:8006/"
}

# The snippet "user" is the file cloud-init/user.yaml now.

resource "proxwright_vm" "win" {
  name = "win" # tab before this
  node = "pve1"
  description = <<EOT
Line one
	Line two
EOT
  # Not translated: Convert does not know `unknown_thing`. The VM keeps what it has.
  # unknown_thing = {
  # 	a = 1
  # }
  cpu   = { cores = 2 }
  disks = { scsi0 = { size = "20GiB", storage = "local-lvm" } }
  guest = "cloud-init"
  cloud_init = {
    user_data = { file = "${path.module}/cloud-init/user.yaml" }
    storage   = "local"
  }
}

output "ip" {
	value = proxwright_vm.win.primary_address
}
