# Takes over what the former provider has in the state. Delete this file after the first apply.
moved {
  from = proxmox_vm_qemu.node
  to   = proxwright_vm.node
}

moved {
  from = proxmox_vm_qemu.db
  to   = proxwright_vm.db
}
