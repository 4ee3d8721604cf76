# Takes over what the former provider has in the state. Delete this file after the first apply.
moved {
  from = proxmox_virtual_environment_vm.node
  to   = proxwright_vm.node
}

removed {
  from = proxmox_virtual_environment_file.user

  lifecycle {
    destroy = false
  }
}

removed {
  from = proxmox_virtual_environment_vm.template

  lifecycle {
    destroy = false
  }
}

import {
  to = proxwright_template.template
  id = "pve1/9000"
}

moved {
  from = proxmox_virtual_environment_download_file.debian
  to   = proxwright_image.debian
}

moved {
  from = proxmox_virtual_environment_cloned_vm.new
  to   = proxwright_vm.new
}
