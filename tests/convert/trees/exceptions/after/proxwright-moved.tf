# Takes over what the former provider has in the state. Delete this file after the first apply.
terraform {
  required_providers {
    proxwright = { source = "proxwright.dev/proxwright/proxwright" }
  }
}

moved {
  from = proxmox_virtual_environment_vm.older
  to   = proxwright_vm.older
}

moved {
  from = proxmox_virtual_environment_download_file.debian
  to   = proxwright_image.debian
}

removed {
  from = proxmox_virtual_environment_vm2.newer_template

  lifecycle {
    destroy = false
  }
}

import {
  to = proxwright_template.newer_template
  id = "pve1/812"
}

moved {
  from = proxmox_virtual_environment_vm2.imported
  to   = proxwright_vm.imported
}

moved {
  from = proxmox_virtual_environment_cloned_vm.from_a_snapshot
  to   = proxwright_vm.from_a_snapshot
}

moved {
  from = proxmox_vm_qemu.installed_from_cd
  to   = proxwright_vm.installed_from_cd
}

moved {
  from = proxmox_vm_qemu.with_physical_drives
  to   = proxwright_vm.with_physical_drives
}

moved {
  from = proxmox_vm_qemu.with_a_physical_drive
  to   = proxwright_vm.with_a_physical_drive
}
