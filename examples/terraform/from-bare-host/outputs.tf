output "addresses" {
  description = "Addresses by VM name."
  value       = { for name, vm in proxwright_vm.web : name => vm.primary_address }
}

output "template" {
  description = "Id of the template's newest version."
  value       = proxwright_template.ubuntu.vmid
}
