terraform {
  required_providers {
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
    }
  }
}
provider "proxwright" {
  endpoint = trimsuffix("https://${var.host}:8006/api2/json", "/api2/json")
  # Not translated: Set it in the environment: PROXMOX_VE_USERNAME and PROXMOX_VE_PASSWORD. A token is safer.
  # pm_user = "root@pam"
  # Not translated: Set it in the environment: PROXMOX_VE_USERNAME and PROXMOX_VE_PASSWORD. A token is safer.
  # pm_password = var.password
}
variable "host" {}
variable "password" {}
resource "proxwright_vm" "k3s" {
  count           = 3
  name            = "k3s-${count.index + 1}"
  node            = element(["pve1","pve2"], count.index)
  clone           = { template = "ubuntu-24.04" }
  agent           = { enabled = true }
  guest           = "cloud-init"
  cpu             = { cores = 2, sockets = "1", type = "host" }
  memory          = "2GiB"
  balloon         = "512MiB"
  scsi_controller = "virtio-scsi-pci"
  boot            = ["scsi0"]
  on_boot         = true
  power           = "running"
  disks = {
    scsi0   = { size = "10G", storage = "local-lvm", io_thread = true, ssd = true }
    virtio1 = { size = "10G", storage = "nfs", format = "qcow2" }
  }
  nics = {
    net0 = {
      model  = "virtio"
      bridge = "vmbr0"
      ipv4   = { address = "10.0.0.${count.index + 10}/24", gateway = "10.0.0.1" }
    }
  }
  cloud_init = {
    ssh_keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 a", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 b"]
  }
  provisioner "remote-exec" {
    inline = ["ip a"]
  }
  connection {
    type = "ssh"
    host = self.primary_address
    # Not translated: Proxwright has no such attribute. See `primary_address`, `addresses`, `macs`, `all_disks` and `all_nics`.
    # port = self.ssh_port
    user = "ubuntu"
  }
}
output "ips" { value = proxwright_vm.k3s.*.primary_address }
output "hosts" { value = join(" ", proxwright_vm.k3s.*.primary_address) }
