# By node and id, by id alone, or by a name that only one VM has.
import {
  to = proxwright_vm.web
  id = "pve1/101"
}
