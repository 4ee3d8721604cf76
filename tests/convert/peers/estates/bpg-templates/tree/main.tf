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

variable "releases" {
  default = {
    stable = { id = 721, image = "local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2" }
    beta   = { id = 722, image = "local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2" }
  }
}

variable "is_template" {
  default = true
}

# One template for each release.
resource "proxmox_virtual_environment_vm" "release" {
  for_each = var.releases

  name      = "release-${each.key}"
  node_name = "pve1"
  vm_id     = each.value.id
  template  = true
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = each.value.image
    size         = 5
  }
}

# A variable says whether it is one, and Proxmox chose its id.
resource "proxmox_virtual_environment_vm" "by_variable" {
  name      = "by-variable"
  node_name = "pve1"
  template  = var.is_template
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = "local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2"
    size         = 5
  }
}

module "template" {
  source = "./modules/template"
  count  = 2
  name   = "of-a-module-${count.index}"
  id     = 725 + count.index
}

resource "proxmox_virtual_environment_vm" "clone" {
  name      = "clone"
  node_name = "pve1"
  vm_id     = 728
  started   = false
  clone {
    vm_id = proxmox_virtual_environment_vm.release["stable"].vm_id
    full  = true
  }
}

# Named by its address.
resource "proxmox_virtual_environment_download_file" "debian" {
  content_type        = "import"
  datastore_id        = "local"
  node_name           = "pve1"
  url                 = "https://cloud.debian.org/images/cloud/trixie/latest/debian-13-genericcloud-amd64.qcow2"
  checksum            = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  checksum_algorithm  = "sha512"
  overwrite           = false
  overwrite_unmanaged = true
  verify              = true
}

resource "proxmox_virtual_environment_download_file" "packed" {
  content_type            = "iso"
  datastore_id            = "local"
  node_name               = "pve1"
  url                     = "https://images.example.org/small.img.gz"
  file_name               = "small.img"
  decompression_algorithm = "gz"
  overwrite               = false
}
