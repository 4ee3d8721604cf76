data "proxwright_vm" "gateway" {
  name = "gateway"
}

output "gateway_mac" {
  value = data.proxwright_vm.gateway.macs["net0"]
}
