locals {
  vms = {
    rancher-manager-1 = { vmid = 401, role = "manager", address = "10.20.0.11/24" }
    rancher-manager-2 = { vmid = 402, role = "manager", address = "10.20.0.12/24" }
    rancher-manager-3 = { vmid = 403, role = "manager", address = "10.20.0.13/24" }
    nprd-apps-1       = { vmid = 404, role = "apps", address = "10.20.0.21/24" }
    nprd-apps-2       = { vmid = 405, role = "apps", address = "10.20.0.22/24" }
  }
}

resource "proxwright_vm" "rancher" {
  for_each = local.vms

  name  = each.key
  node  = var.node
  vmid  = each.value.vmid
  role  = each.value.role
  tags  = ["rancher", each.value.role]
  guest = "cloud-init"
  clone = { template = var.template, mode = "full" }

  cpu    = { cores = 4 }
  memory = "8GiB"
  disks  = { scsi0 = { size = "100GiB" } }

  nics = {
    net0 = {
      bridge = var.bridge
      vlan   = var.vlan
      ipv4   = { address = each.value.address, gateway = "10.20.0.1" }
    }
  }

  cloud_init = {
    user     = "ubuntu"
    ssh_keys = length(var.ssh_keys) == 0 ? null : var.ssh_keys
    dns      = { servers = ["10.20.0.1"], domain = "lab.example.org" }
  }
}
