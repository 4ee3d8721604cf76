# By node and volume.
import {
  to = proxwright_image.noble
  id = "pve1/local:import/noble-20250430.qcow2"
}
