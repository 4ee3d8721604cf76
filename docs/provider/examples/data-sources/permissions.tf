data "proxwright_permissions" "template" {
  path = "/vms/9000"
}

check "may_clone" {
  assert {
    condition     = contains(lookup(data.proxwright_permissions.template.permissions, "/vms/9000", []), "VM.Clone")
    error_message = "${data.proxwright_permissions.template.principal} may not clone the template."
  }
}
