terraform import proxwright_template.ubuntu pve1/9000
