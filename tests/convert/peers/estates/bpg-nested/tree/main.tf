# Modules in modules, with an alias that is passed down.
terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  alias     = "lab"
  endpoint  = var.endpoint
  api_token = "${var.token_id}=${var.token_secret}"
  insecure  = true
}


module "site" {
  source    = "./modules/site"
  providers = { proxmox = proxmox.lab }
  tiers = {
    web = { count = 2, first = 1441, memory = 1024 }
    app = { count = 1, first = 1445, memory = 2048 }
  }
}

output "ids" {
  value = module.site.ids
}
