# A module that uses a module, over several nodes.
terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  pm_api_url          = "${var.endpoint}/api2/json"
  pm_api_token_id     = var.token_id
  pm_api_token_secret = var.token_secret
  pm_tls_insecure     = true
}


module "fleet" {
  source = "./modules/fleet"
  fleet  = { pve1 = [1551, 1552], pve2 = [1555] }
}

output "nodes" {
  value = module.fleet.nodes
}
