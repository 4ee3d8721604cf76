# By node and ID, by ID alone, or by a unique name.
import {
  to = proxwright_template.ubuntu
  id = "pve1/9000"
}
