terraform {
  required_providers {
    proxmox = {
      source                = "bpg/proxmox"
      configuration_aliases = [proxmox.second]
    }
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
      configuration_aliases = [proxwright.second]
    }
  }
}

provider "proxmox" {
  alias     = "second"
  endpoint  = "https://pve2.example.org:8006"
  username  = "root@pam"
  password  = "secret"
  api_token = var.tokens["second"]
}

provider "proxwright" {
  alias    = "second"
  endpoint = "https://pve2.example.org:8006"
  # Not translated: Set it in the environment: PROXMOX_VE_USERNAME and PROXMOX_VE_PASSWORD. A token is safer.
  # username  = "root@pam"
  # Not translated: Set it in the environment: PROXMOX_VE_USERNAME and PROXMOX_VE_PASSWORD. A token is safer.
  # password  = "secret"
  token = var.tokens["second"]
}

variable "tokens" { type = map(string) }
variable "nodes" {
  type = map(object({ node = string, ip = string, uefi = optional(bool, false), memory = optional(number) }))
}

resource "proxwright_vm" "node" {
  for_each        = var.nodes
  provider        = proxwright.second
  name            = each.key
  node            = each.value.node
  power           = (each.value.node != "pve3") ? "running" : "stopped"
  machine         = "q35"
  machine_options = { viommu = "virtio" }
  bios            = each.value.uefi ? "ovmf" : "seabios"
  memory          = each.value.memory == null ? null : "${each.value.memory}MiB"

  efi = one([for efi_disk_key, efi_disk_value in (each.value.uefi ? [1] : []) : { storage = "local-lvm", secure_boot = true }])

  nics = {
    net0 = {
      bridge = "vmbr0"
      ipv4   = try([for ip_config_index, ip_config in [for key, value in [each.value.ip] : { key = key, value = value }] : { address = ip_config.value }][0], null)
    }
    net1 = {
      bridge = "vmbr1"
      trunks = [10, 20]
      ipv4   = try([for ip_config_index, ip_config in [for key, value in [each.value.ip] : { key = key, value = value }] : { address = ip_config.value }][1], null)
    }
  }
  guest      = "cloud-init"
  cloud_init = { user_data = { text = local.user_data[each.key] }, storage = "local" }

  pci = { hostpci0 = { mapping = "gpu", pcie = true, primary_gpu = true } }
  # Not translated: Only root@pam can pass a USB port of the host. Use a mapping: `usb = { usb0 = { mapping = … } }`.
  # host = "1-2"

  depends_on = [proxmox_virtual_environment_container.dns]
}

locals {
  user_data = {
    for each_key, each_value in var.nodes : each_key => <<-EOT
      #cloud-config
      hostname: ${each_key}
    EOT
  }
}

resource "proxwright_template" "template" {
  name = "debian-12"
  node = "pve1"
  vmid = 9000
  disks = {
    scsi0 = {
      storage     = "local-lvm"
      import_from = proxwright_image.debian.id
      size        = "8GiB"
    }
  }
}

resource "proxwright_image" "debian" {
  node    = "pve1"
  storage = "local"
  content = "import"
  url     = "https://cloud.debian.org/debian-12.qcow2"
}

resource "proxwright_vm" "new" {
  name   = "new"
  node   = "pve1"
  clone  = { template = tostring(proxwright_template.template.vmid), mode = "linked" }
  cpu    = { cores = 4 }
  memory = "2GiB"
  disks  = { scsi0 = { size = "20GiB" } }
  nics   = { net0 = { bridge = "vmbr0", vlan = 5 } }
}

# Containers stay with bpg.
resource "proxmox_virtual_environment_container" "dns" {
  node_name = "pve1"
}

resource "proxmox_virtual_environment_role" "deploy" {
  role_id    = "deploy"
  privileges = ["VM.Audit", "VM.Monitor"]
}

output "macs" {
  value = [for vm in values(proxwright_vm.node) : vm.macs["net0"]]
}

output "cores" {
  value = proxwright_vm.new.cpu.cores
}
