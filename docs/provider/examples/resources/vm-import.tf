# By node and ID, by ID alone, or by a unique name.
import {
  to = proxwright_vm.web
  id = "pve1/101"
}
