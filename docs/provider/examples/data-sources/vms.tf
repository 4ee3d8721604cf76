data "proxwright_vms" "web" {
  name_regex = "^web-"
  status     = "running"
}

# What an interrupted creation left behind.
data "proxwright_vms" "leftovers" {
  incomplete = true
}

output "leftovers" {
  value = [for vm in data.proxwright_vms.leftovers.vms : "${vm.vmid}: ${vm.what_to_do}"]
}
