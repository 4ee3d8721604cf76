# Takes over what the former provider has in the state. Delete this file after the first apply.
moved {
  from = proxmox_vm_qemu.k3s
  to   = proxwright_vm.k3s
}
