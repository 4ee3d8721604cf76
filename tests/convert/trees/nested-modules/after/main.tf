terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
    }
  }
}
provider "proxmox" { alias = "lab" }

provider "proxwright" {
  alias = "lab"
}
module "stack" {
  source = "./modules/stack"
  providers = { proxmox = proxmox.lab, proxwright = proxwright.lab }
  vms = { a = { cores = 2 }, b = { cores = null } }
}
module "remote" {
  source = "git::https://example.org/modules/proxmox-vm.git?ref=v1"
  name   = "remote"
}
output "ids" { value = module.stack.ids }
