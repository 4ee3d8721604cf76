# From a cloud image.
resource "proxwright_template" "ubuntu" {
  name       = "ubuntu-24.04"
  node       = "pve1"
  vmids      = "9000-9009"
  guest      = "cloud-init"
  agent      = { enabled = false }
  memory     = "2GiB"
  disks      = { scsi0 = { import_from = proxwright_image.noble.id, storage = "local-lvm" } }
  nics       = { net0 = { bridge = "vmbr0" } }
  cloud_init = { storage = "local-lvm" }
  boot       = ["scsi0"]

  # Also build a new version when the image is replaced under the same name.
  triggers = { "image" = proxwright_image.noble.sha256 }
}

# From an ISO that installs itself and powers the machine off.
resource "proxwright_template" "debian" {
  name   = "debian-12"
  node   = "pve1"
  vmids  = "9010-9019"
  guest  = "plain"
  memory = "2GiB"
  disks = {
    scsi0 = { storage = "local-lvm", size = "10GiB" }
    ide2  = { iso = proxwright_image.installer.id }
  }
  boot    = ["scsi0", "ide2"]
  install = { timeout = "45m" }
}

# From a stopped VM, which stays as it is.
resource "proxwright_template" "golden" {
  name = "golden"
  node = "pve1"
  from = { vm = "golden-source" }
}

resource "proxwright_vm" "web" {
  name  = "web"
  node  = "pve1"
  clone = { template = proxwright_template.ubuntu.name }
  ready = { agent = false }
}
