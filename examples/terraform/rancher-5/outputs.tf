output "addresses" {
  description = "Addresses by VM name."
  value       = { for name, vm in proxwright_vm.rancher : name => vm.primary_address }
}
