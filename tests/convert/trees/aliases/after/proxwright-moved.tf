# Takes over what the former provider has in the state. Delete this file after the first apply.
moved {
  from = proxmox_virtual_environment_vm.maybe
  to   = proxwright_vm.maybe
}
