# Takes over what the former provider has in the state. Delete this file after the first apply.
removed {
  from = proxmox_virtual_environment_file.user

  lifecycle {
    destroy = false
  }
}

moved {
  from = proxmox_virtual_environment_vm.win
  to   = proxwright_vm.win
}
