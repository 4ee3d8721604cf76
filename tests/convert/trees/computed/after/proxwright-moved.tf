# Takes over what the former provider has in the state. Delete this file after the first apply.
terraform {
  required_providers {
    proxwright = { source = "proxwright.dev/proxwright/proxwright" }
  }
}

moved {
  from = proxmox_virtual_environment_vm.grid
  to   = proxwright_vm.grid
}
