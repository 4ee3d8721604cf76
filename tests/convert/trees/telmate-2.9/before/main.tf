terraform {
  required_providers {
    proxmox = {
      source = "telmate/proxmox"
      version = "2.9.14"
    }
  }
}
provider "proxmox" {
  pm_api_url = "https://${var.host}:8006/api2/json"
  pm_user = "root@pam"
  pm_password = var.password
  pm_tls_insecure = "true"
  pm_parallel = 1
}
variable "host" {}
variable "password" {}
resource "proxmox_vm_qemu" "k3s" {
  count = 3
  name = "k3s-${count.index + 1}"
  target_node = element(["pve1","pve2"], count.index)
  vmid = 0
  clone = "ubuntu-24.04"
  agent = 1
  os_type = "cloud-init"
  cores = 2
  sockets = "1"
  cpu = "host"
  memory = "2048"
  balloon = 512
  scsihw = "virtio-scsi-pci"
  bootdisk = "scsi0"
  boot = "c"
  onboot = true
  oncreate = true
  disk {
    size = "10G"
    type = "scsi"
    storage = "local-lvm"
    iothread = 1
    ssd = 1
  }
  disk {
    size = "10G"
    type = "virtio"
    storage = "nfs"
    format = "qcow2"
  }
  network {
    model = "virtio"
    bridge = "vmbr0"
    tag = -1
  }
  ipconfig0 = "ip=10.0.0.${count.index + 10}/24,gw=10.0.0.1"
  sshkeys = <<EOF2
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 a
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 b
EOF2
  ssh_user = "root"
  ssh_private_key = <<EOF2
key
EOF2
  provisioner "remote-exec" {
    inline = ["ip a"]
  }
  connection {
    type = "ssh"
    host = self.ssh_host
    port = self.ssh_port
    user = "ubuntu"
  }
  lifecycle { ignore_changes = [ network, disk, sshkeys, ciuser, bootdisk ] }
}
output "ips" { value = proxmox_vm_qemu.k3s.*.default_ipv4_address }
output "hosts" { value = join(" ", proxmox_vm_qemu.k3s.*.ssh_host) }
