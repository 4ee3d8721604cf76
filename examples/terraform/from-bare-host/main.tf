# Proxmox downloads it to a storage, unless it is there already.
resource "proxwright_image" "noble" {
  node    = var.node
  storage = var.file_storage
  content = "import"
  url     = var.image_url
  sha256  = var.image_sha256
  # Ubuntu names it .img, but it is qcow2, and Proxmox goes by the name.
  file = "noble-server-cloudimg-amd64.qcow2"
}

# Built once, then cloned. Each version takes the next of its IDs.
resource "proxwright_template" "ubuntu" {
  name            = "ubuntu-24.04"
  node            = var.node
  vmids           = "9000-9009"
  guest           = "cloud-init"
  os_type         = "l26"
  cpu             = { cores = 2, type = "x86-64-v2-AES" }
  memory          = "2GiB"
  scsi_controller = "virtio-scsi-single"

  disks = {
    scsi0 = {
      import_from = proxwright_image.noble.id
      storage     = var.disk_storage
      size        = "10GiB"
      discard     = true
      io_thread   = true
    }
  }

  nics       = { net0 = { model = "virtio", bridge = var.bridge } }
  cloud_init = { storage = var.disk_storage } # a drive for clones without custom user-data
  agent      = { enabled = true }             # the device; user-data.yaml installs the agent
  serial     = { serial0 = "socket" }         # cloud images write their boot messages there
  boot       = ["scsi0"]
  triggers   = var.image_sha256 == null ? null : { image = var.image_sha256 }
}

resource "proxwright_vm" "web" {
  for_each = var.vms

  name  = each.key
  node  = var.node
  vmid  = each.value.vmid
  tags  = ["web"]
  guest = "cloud-init" # ready when the guest agent answers and an address is known

  # By name: existing VMs stay when the template gets a new version.
  clone = { template = proxwright_template.ubuntu.name, mode = "linked" }

  cpu    = { cores = 2 }
  memory = "4GiB"
  disks  = { scsi0 = { size = "20GiB" } } # grow the template's disk
  nics   = { net0 = { ipv4 = { address = each.value.address, gateway = var.gateway } } }

  # On its own ISO image, which replaces Proxmox's cloud-init drive.
  cloud_init = {
    storage   = var.file_storage
    user      = "ubuntu"
    ssh_keys  = length(var.ssh_keys) == 0 ? null : var.ssh_keys
    dns       = { servers = [var.gateway] }
    user_data = { file = "${path.module}/user-data.yaml" }
  }
}
