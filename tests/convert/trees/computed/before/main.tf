locals {
  nodes = ["pve1", "pve2"]
  grid  = { for p in setproduct(local.nodes, range(2)) : "${p[0]}-${p[1]}" => { node = p[0], n = p[1], disks = { for i in range(p[1] + 1) : "scsi${i}" => 10 * (i + 1) } } if !(p[0] == "pve2" && p[1] == 1) }
  by_node = { for k, v in local.grid : v.node => k... }
  text = <<-EOT
    %{ for k, v in local.grid ~}
    ${k} = ${v.node}
    %{ endfor ~}
  EOT
}
resource "proxmox_virtual_environment_vm" "grid" {
  for_each  = local.grid
  name      = replace(each.key, "/[^a-z0-9]/", "-")
  node_name = each.value.node
  vm_id     = 200 + index(keys(local.grid), each.key)
  tags      = concat(["grid"], each.value.n == 0 ? ["first"] : [])
  description = templatestring(local.text, {})
  dynamic "disk" {
    for_each = { for s, g in each.value.disks : s => g if g > 0 }
    content {
      interface = disk.key
      size = disk.value
      datastore_id = disk.value > 10 ? "nfs" : "local-lvm"
      discard = disk.value > 10 ? "on" : "ignore"
    }
  }
  dynamic "network_device" {
    for_each = toset(["vmbr0", "vmbr1"])
    iterator = nic
    content {
      bridge = nic.value
      vlan_id = nic.key == "vmbr1" ? 30 : null
    }
  }
  dynamic "initialization" {
    for_each = each.value.n == 0 ? [true] : []
    content {
      datastore_id = "local-lvm"
      dynamic "ip_config" {
        for_each = [0]
        content {
          ipv4 { address = "dhcp" }
        }
      }
    }
  }
}
output "map" {
  value = { for k, vm in proxmox_virtual_environment_vm.grid : k => { id = vm.vm_id, ip = try(vm.ipv4_addresses[1][0], null), mac = vm.network_device[0].mac_address } }
}
output "all" { value = values(proxmox_virtual_environment_vm.grid)[*].id }
