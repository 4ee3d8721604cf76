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
resource "proxwright_vm" "grid" {
  for_each    = local.grid
  name        = replace(each.key, "/[^a-z0-9]/", "-")
  node        = each.value.node
  vmid        = 200 + index(keys(local.grid), each.key)
  tags        = concat(["grid"], each.value.n == 0 ? ["first"] : [])
  description = templatestring(local.text, {})
  disks = {
    for disk_key, disk_value in { for s, g in each.value.disks : s => g if g > 0 } : (disk_key) => {
      size    = "${disk_value}GiB"
      storage = disk_value > 10 ? "nfs" : "local-lvm"
      discard = (disk_value > 10 ? "on" : "ignore") == "on"
    }
  }
  nics = {
    for nic_index, nic in [for key, value in toset(["vmbr0", "vmbr1"]) : { key = key, value = value }] : "net${nic_index}" => { bridge = nic.value, vlan = nic.key == "vmbr1" ? 30 : null }
  }
  guest      = "cloud-init"
  cloud_init = one([for initialization_key, initialization_value in (each.value.n == 0 ? [true] : []) : { storage = "local-lvm" }])
  # Not translated: Convert cannot turn this dynamic block into a map. Write its entries.
  # dynamic "ip_config" {
  #   for_each = [0]
  #   content {
  #     ipv4 { address = "dhcp" }
  #   }
  # }
}
output "map" {
  value = { for k, vm in proxwright_vm.grid : k => { id = vm.vmid, ip = try(vm.primary_address, null), mac = vm.macs["net0"] } }
}
output "all" { value = values(proxwright_vm.grid)[*].vmid }
