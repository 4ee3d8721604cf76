# By node and id, by id alone, or by a name that only one template has.
import {
  to = proxwright_template.ubuntu
  id = "pve1/9000"
}
