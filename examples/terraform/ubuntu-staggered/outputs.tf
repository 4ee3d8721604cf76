output "addresses" {
  description = "Addresses by VM name."
  value       = { for name, vm in proxwright_vm.ubuntu : name => vm.primary_address }
}

output "vmids" {
  description = "Ids by VM name."
  value       = { for name, vm in proxwright_vm.ubuntu : name => vm.vmid }
}
