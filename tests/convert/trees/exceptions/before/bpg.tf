resource "proxmox_virtual_environment_vm" "older" {
  name          = "older"
  vm_id         = 811
  node_name     = "pve1"
  mac_addresses = ["BC:24:11:00:00:01"]

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    file_id      = proxmox_virtual_environment_download_file.debian.id
    size         = 8
  }
  initialization {
    dns {
      server = "10.0.0.53"
    }
  }
  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:00:00:01"
  }
  smbios {
    sku = "small"
  }
  vga {
    enabled = true
    type    = "std"
  }
}

resource "proxmox_virtual_environment_download_file" "debian" {
  content_type = "iso"
  datastore_id = "local"
  node_name    = "pve1"
  file_name    = "debian-13.img"
  url          = "https://images.example.org/debian-13.qcow2"
}

resource "proxmox_virtual_environment_vm2" "newer_template" {
  name      = "newer-template"
  id        = 812
  node_name = "pve1"
  template  = true

  disk = {
    scsi0 = {
      datastore_id = "local-lvm"
      import_from  = proxmox_virtual_environment_download_file.debian.id
    }
  }
}

resource "proxmox_virtual_environment_vm2" "imported" {
  name      = "imported"
  id        = 813
  node_name = "pve1"

  disk = {
    scsi0 = {
      datastore_id = "local-lvm"
      import_from  = proxmox_virtual_environment_download_file.debian.id
    }
    scsi1 = {
      file = "local-lvm:vm-813-disk-7"
    }
  }
}

resource "proxmox_virtual_environment_cloned_vm" "from_a_snapshot" {
  name      = "from-a-snapshot"
  id        = 814
  node_name = "pve1"

  clone = {
    source_vm_id  = 9000
    snapshot_name = "clean"
  }
}
