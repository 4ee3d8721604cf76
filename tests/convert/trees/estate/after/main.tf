terraform {
  required_version = ">= 1.8"
  required_providers {
    proxmox = {
      source  = "bpg/proxmox"
      version = "~> 0.60"
    }
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
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

provider "proxwright" {
  endpoint = var.endpoint # the cluster
  token    = var.token
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
resource "proxwright_vm" "web" {
  for_each = toset(["a", "b"])
  name     = "web-${each.key}" # host name
  node     = "pve1"
  vmid     = 400 + index(["a", "b"], each.key)
  tags     = ["web", "prod"]
  on_boot  = true

  # Keep it small.
  cpu = { cores = 2, type = "host" } # two

  memory  = "${var.memory}MiB"
  balloon = "none"

  disks = merge(
    {
      # system disk
      scsi0 = {
        storage   = "local-lvm"
        size      = "20GiB"
        discard   = true
        io_thread = true
        limits    = { read_mbps = 100 }
      }
    },
    {
      for disk_key, disk_value in var.disks : (disk_value.slot) => {
        storage = "local-lvm"
        size    = "${disk_value.size}GiB"
        ssd     = disk_value.ssd
      }
    }
  )

  nics = {
    for network_device_index, network_device in [for key, value in var.nics : { key = key, value = value }] : "net${network_device_index}" => {
      bridge = network_device.value.bridge
      vlan   = 10 + network_device.key
      ipv4   = "net${network_device_index}" == "net0" ? { address = "10.0.0.5/24", gateway = "10.0.0.1" } : null
    }
  }

  guest = "cloud-init"
  cloud_init = {
    storage   = "local"
    user      = "ops"
    ssh_keys  = ["ssh-ed25519 AAAA"]
    user_data = { file = "${path.module}/cloud-init/cloud.yaml" }
  }

  agent = { enabled = true }

  clone   = { template = "9000", mode = "full" }
  serial  = { serial0 = "socket" }
  os_type = "l26"
  # Not translated: Convert does not know `memory_hotplug_thing`. The VM keeps what it has.
  # memory_hotplug_thing = 3

  lifecycle {
    ignore_changes = [description]
  }
  # the end
}

# The snippet "cloud" is the file cloud-init/cloud.yaml now.

resource "proxwright_image" "noble" {
  content = "import"
  storage = "local"
  node    = "pve1"
  url     = "https://example.org/noble.img"
  file    = "noble.qcow2"
  sha256  = "abc"
}


output "ips" {
  value = { for k, vm in proxwright_vm.web : k => vm.primary_address }
}
# Not translated: Proxwright has no such attribute. See `primary_address`, `addresses`, `macs`, `all_disks` and `all_nics`.
# output "names" {
#   value = values(proxmox_virtual_environment_vm.web)[*].network_interface_names
# }
