terraform import proxwright_image.noble pve1/local:import/noble-20250430.qcow2
