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

# The newer resources, with attributes instead of blocks.
resource "proxmox_virtual_environment_vm2" "plain" {
  id          = 561
  name        = "plain"
  node_name   = "pve1"
  description = "Made by the newer resource."
  tags        = ["a", "b"]
  cpu = {
    cores   = 2
    sockets = 1
    type    = "x86-64-v2-AES"
    units   = 200
  }
  vga = {
    type   = "std"
    memory = 32
  }
  rng = {
    source    = "/dev/urandom"
    max_bytes = 1024
    period    = 1000
  }
  cdrom = {
    ide2 = {
      file_id = "local:iso/debian-13.1.0-amd64-netinst.iso"
    }
  }
  stop_on_destroy = true
}

resource "proxmox_vm" "short" {
  id              = 562
  name            = "short"
  node_name       = "pve2"
  stop_on_destroy = true
}

resource "proxmox_virtual_environment_cloned_vm" "clone" {
  id        = 563
  name      = "clone"
  node_name = "pve1"
  started   = false
  clone = {
    source_vm_id     = 9000
    source_node_name = "pve1"
    full             = true
    target_datastore = "local-lvm"
    pool_id          = "lab"
    retries          = 2
  }
  cpu = {
    cores = 4
  }
  memory = {
    size    = 4096
    balloon = 2048
  }
  disk = {
    scsi0 = {
      datastore_id = "local-lvm"
      size_gb      = 8
      discard      = "on"
      iothread     = true
    }
    scsi1 = {
      datastore_id = "local-lvm"
      size_gb      = 4
      cache        = "writeback"
      ssd          = true
    }
  }
  network = {
    net0 = {
      bridge   = "vmbr0"
      model    = "virtio"
      firewall = true
      tag      = 20
    }
  }
  stop_on_destroy = true
}

resource "proxmox_cloned_vm" "clones" {
  for_each  = { one = 564, two = 565 }
  id        = each.value
  name      = "clone-${each.key}"
  node_name = "pve1"
  clone = {
    source_vm_id = 9001
    full         = false
  }
  stop_on_destroy = true
}

# Every attribute of the newer resources.
resource "proxmox_virtual_environment_cloned_vm" "all" {
  id          = 566
  name        = "all"
  node_name   = "pve1"
  description = "A clone with everything."
  tags        = ["all"]
  started     = false
  clone = {
    source_vm_id     = 9000
    full             = true
    target_datastore = "nfs"
    target_format    = "qcow2"
    bandwidth_limit  = 100000
  }
  cpu = {
    cores   = 4
    sockets = 1
    type    = "x86-64-v2-AES"
    flags   = ["+aes", "-pcid"]
    limit   = 2
    units   = 150
    numa    = true
    vcpus   = 2
  }
  memory = {
    size    = 4096
    balloon = 2048
    shares  = 500
  }
  disk = {
    scsi0 = {
      datastore_id = "nfs"
      size_gb      = 6
      format       = "qcow2"
      aio          = "threads"
      backup       = true
      replicate    = false
      serial       = "DISK-0"
    }
    scsi3 = {
      datastore_id = "local-lvm"
      media        = "disk"
      size_gb      = 5
      backup       = false
      cache        = "none"
    }
  }
  network = {
    net0 = {
      bridge      = "vmbr0"
      model       = "virtio"
      mac_address = "BC:24:11:56:60:01"
      mtu         = 1400
      queues      = 2
      rate_limit  = 5.5
    }
    net1 = {
      bridge    = "vmbr1"
      model     = "e1000"
      link_down = true
      trunks    = [10, 20]
    }
  }
  vga = {
    type      = "qxl"
    memory    = 32
    clipboard = "vnc"
  }
  timeouts = {
    create = "20m"
    read   = "5m"
    update = "10m"
    delete = "5m"
  }
  purge_on_destroy                     = true
  delete_unreferenced_disks_on_destroy = true
  stop_on_destroy                      = true
}

# Loses what it would have from its template.
resource "proxmox_virtual_environment_cloned_vm" "without" {
  id        = 567
  name      = "without"
  node_name = "pve1"
  started   = false
  clone = {
    source_vm_id = 9000
    full         = true
  }
  delete = {
    disk    = ["ide2"]
    network = ["net0"]
  }
  stop_on_destroy = true
}
