terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}
resource "proxmox_vm_qemu" "node" {
  count       = 3
  name        = "node-${count.index}"
  target_node = "pve2"
  clone       = "debian-12"
  full_clone  = false
  memory      = 4096
  agent       = 1
  boot        = "order=scsi0;net0"
  scsihw      = "virtio-scsi-single"
  os_type     = "cloud-init"
  ipconfig0   = "ip=10.0.1.${count.index + 10}/24,gw=10.0.1.1"
  nameserver  = "1.1.1.1 8.8.8.8"
  sshkeys     = <<EOT
    ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 a
    ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 b
  EOT
  tags = "a;b"
  cpu {
    cores   = 4
    sockets = 1
  }
  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
    tag    = 20
  }
  disks {
    scsi {
      scsi0 {
        disk {
          storage = "local-lvm"
          size    = "32G"
          emulatessd = true
        }
      }
    }
    ide {
      ide2 {
        cloudinit {
          storage = "local-lvm"
        }
      }
    }
  }
}
output "ips" { value = proxmox_vm_qemu.node[*].default_ipv4_address }

provider "proxmox" {
  pm_api_url          = "https://pve1.example.org:8006/api2/json"
  pm_api_token_id     = "deploy@pve!tf"
  pm_api_token_secret = var.secret
  pm_tls_insecure     = true
}

variable "secret" { sensitive = true }
variable "ip" { default = "ip=10.0.1.50/24,gw=10.0.1.1" }

resource "proxmox_vm_qemu" "db" {
  name        = "db"
  target_node = "pve1"
  vmid        = 0
  clone       = "debian-12"
  ipconfig0   = var.ip
  cicustom    = "user=local:snippets/db.yaml"
  cipassword  = var.secret
  disk {
    slot    = "virtio0"
    type    = "disk"
    storage = "ceph"
    size    = "10G"
  }
  pci {
    id         = 0
    mapping_id = "gpu"
    pcie       = true
  }
  serial {
    id = 0
  }
  startup_shutdown {
    order            = 2
    startup_delay    = -1
    shutdown_timeout = 60
  }
  force_recreate_on_change_of = "x"
}
