terraform import proxwright_vm.web pve1/101
