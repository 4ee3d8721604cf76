terraform {
  required_providers {
    proxmox = {
      source                = "bpg/proxmox"
      configuration_aliases = [proxmox.second]
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

variable "tokens" { type = map(string) }
variable "nodes" {
  type = map(object({ node = string, ip = string, uefi = optional(bool, false), memory = optional(number) }))
}

resource "proxmox_virtual_environment_vm" "node" {
  for_each  = var.nodes
  provider  = proxmox.second
  name      = each.key
  node_name = each.value.node
  started   = each.value.node != "pve3"
  machine   = "q35,viommu=virtio"
  bios      = each.value.uefi ? "ovmf" : "seabios"
  memory { dedicated = each.value.memory }

  dynamic "efi_disk" {
    for_each = each.value.uefi ? [1] : []
    content {
      datastore_id      = "local-lvm"
      pre_enrolled_keys = true
    }
  }

  network_device { bridge = "vmbr0" }
  network_device {
    bridge = "vmbr1"
    trunks = "10;20"
  }

  initialization {
    dynamic "ip_config" {
      for_each = [each.value.ip]
      content {
        ipv4 { address = ip_config.value }
      }
    }
    user_data_file_id = proxmox_virtual_environment_file.user[each.key].id
  }

  hostpci {
    device  = "hostpci0"
    mapping = "gpu"
    pcie    = true
    xvga    = true
  }

  usb { host = "1-2" }

  depends_on = [proxmox_virtual_environment_container.dns]
}

resource "proxmox_virtual_environment_file" "user" {
  for_each     = var.nodes
  content_type = "snippets"
  datastore_id = "local"
  node_name    = each.value.node
  source_raw {
    file_name = "user-${each.key}.yaml"
    data      = <<-EOT
      #cloud-config
      hostname: ${each.key}
    EOT
  }
}

resource "proxmox_virtual_environment_vm" "template" {
  name      = "debian-12"
  node_name = "pve1"
  vm_id     = 9000
  template  = true
  started   = false
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = proxmox_virtual_environment_download_file.debian.id
  }
}

resource "proxmox_virtual_environment_download_file" "debian" {
  node_name    = "pve1"
  datastore_id = "local"
  content_type = "import"
  url          = "https://cloud.debian.org/debian-12.qcow2"
}

resource "proxmox_virtual_environment_cloned_vm" "new" {
  name      = "new"
  node_name = "pve1"
  clone = {
    source_vm_id = proxmox_virtual_environment_vm.template.vm_id
    full         = false
  }
  cpu    = { cores = 4 }
  memory = { size = 2048 }
  disk = {
    scsi0 = { size_gb = 20 }
  }
  network = {
    net0 = { bridge = "vmbr0", tag = 5 }
  }
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
  value = [for vm in values(proxmox_virtual_environment_vm.node) : vm.network_device[0].mac_address]
}

output "cores" {
  value = proxmox_virtual_environment_cloned_vm.new.cpu.cores
}
