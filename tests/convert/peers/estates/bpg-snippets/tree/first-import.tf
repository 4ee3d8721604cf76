# Only for the first apply.
import {
  to = proxmox_virtual_environment_file.user
  id = "pve1/local:snippets/user.yaml"
}

import {
  to = proxmox_virtual_environment_file.network
  id = "pve1/local:snippets/network.yaml"
}
