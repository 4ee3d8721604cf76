# Takes over what the former provider has in the state. Delete this file after the first apply.
moved {
  from = proxmox_virtual_environment_vm.web
  to   = proxwright_vm.web
}

removed {
  from = proxmox_virtual_environment_file.cloud

  lifecycle {
    destroy = false
  }
}

moved {
  from = proxmox_virtual_environment_download_file.noble
  to   = proxwright_image.noble
}
