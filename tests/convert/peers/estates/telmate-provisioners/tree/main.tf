# Provisioners, connections and another state.
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

data "terraform_remote_state" "network" {
  backend = "local"
  config  = { path = "${path.module}/network.tfstate" }
}

resource "proxmox_vm_qemu" "runner" {
  count           = 2
  name            = "runner-${count.index + 1}"
  target_node     = "pve1"
  vmid            = 2081 + count.index * 2
  vm_state        = "stopped"
  memory          = 1024
  scsihw          = "virtio-scsi-single"
  clone_wait      = 0
  additional_wait = 0
  description     = "Runner ${count.index + 1} of ${data.terraform_remote_state.network.outputs.site}"
  tags            = "ci;runner"

  cpu { cores = 1 + count.index }

  network {
    id     = 0
    model  = "virtio"
    bridge = data.terraform_remote_state.network.outputs.bridge
    tag    = data.terraform_remote_state.network.outputs.vlan
  }
  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
  }

  connection {
    type = "ssh"
    user = "root"
    host = self.default_ipv4_address
  }

  # Runs on this machine only.
  provisioner "local-exec" {
    command = "echo created ${self.name} ${self.vmid} on ${self.target_node}"
  }
  provisioner "local-exec" {
    when       = destroy
    on_failure = continue
    command    = "echo gone ${self.name}"
  }
}

resource "terraform_data" "after" {
  depends_on       = [proxmox_vm_qemu.runner]
  triggers_replace = [for runner in proxmox_vm_qemu.runner : runner.vmid]
}

output "runners" { value = { for runner in proxmox_vm_qemu.runner : runner.name => runner.id } }
output "addresses" { value = proxmox_vm_qemu.runner[*].default_ipv4_address }
