terraform {
  required_version = ">= 1.8"
  required_providers {
    proxmox = {
      source  = "bpg/proxmox"
      version = "~> 0.60"
    }
    random = { source = "hashicorp/random" }
  }
}

provider "proxmox" {
  endpoint  = var.endpoint # the cluster
  api_token = var.token
  insecure  = true
  ssh {
    agent = true
  }
}

variable "endpoint" { default = "https://pve1:8006" }
variable "token" { sensitive = true }
variable "disks" {
  type    = map(object({ size = number, slot = string, ssd = optional(bool) }))
  default = {}
}
variable "memory" { default = 2048 }
variable "nics" { default = [{ bridge = "vmbr0" }, { bridge = "vmbr1" }] }

# The web server.
resource "proxmox_virtual_environment_vm" "web" {
  for_each  = toset(["a", "b"])
  name      = "web-${each.key}" # host name
  node_name = "pve1"
  vm_id     = 400 + index(["a", "b"], each.key)
  tags      = ["web", "prod"]
  on_boot   = true

  # Keep it small.
  cpu {
    cores = 2 # two
    type  = "host"
  }

  memory {
    dedicated = var.memory
    floating  = 0
  }

  # system disk
  disk {
    datastore_id = "local-lvm"
    interface    = "scsi0"
    size         = 20
    discard      = "on"
    iothread     = true
    speed {
      read = 100
    }
  }

  dynamic "disk" {
    for_each = var.disks
    content {
      datastore_id = "local-lvm"
      interface    = disk.value.slot
      size         = disk.value.size
      ssd          = disk.value.ssd
    }
  }

  dynamic "network_device" {
    for_each = var.nics
    content {
      bridge  = network_device.value.bridge
      vlan_id = 10 + network_device.key
    }
  }

  initialization {
    datastore_id = "local-lvm"
    ip_config {
      ipv4 {
        address = "10.0.0.5/24"
        gateway = "10.0.0.1"
      }
    }
    user_account {
      username = "ops"
      keys     = ["ssh-ed25519 AAAA"]
    }
    user_data_file_id = proxmox_virtual_environment_file.cloud.id
  }

  agent {
    enabled = true
  }

  clone {
    vm_id = 9000
    full  = true
  }
  serial_device {}
  operating_system { type = "l26" }
  memory_hotplug_thing = 3

  lifecycle {
    ignore_changes = [tags, network_device[0].mac_address, description]
  }
  # the end
}

resource "proxmox_virtual_environment_file" "cloud" {
  content_type = "snippets"
  datastore_id = "local"
  node_name    = "pve1"
  source_raw {
    data = <<-EOT
      #cloud-config
      packages: [qemu-guest-agent]
    EOT
    file_name = "cloud.yaml"
  }
}

resource "proxmox_virtual_environment_download_file" "noble" {
  content_type       = "import"
  datastore_id       = "local"
  node_name          = "pve1"
  url                = "https://example.org/noble.img"
  file_name          = "noble.qcow2"
  checksum           = "abc"
  checksum_algorithm = "sha256"
}


output "ips" {
  value = { for k, vm in proxmox_virtual_environment_vm.web : k => vm.ipv4_addresses[1][0] }
}
output "names" {
  value = values(proxmox_virtual_environment_vm.web)[*].network_interface_names
}
