terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "name" { type = string }
variable "stage" {}

module "web" {
  source = "../machine"
  count  = var.stage.web
  name   = "${var.name}-web-${count.index}"
  vmid   = var.stage.first + count.index
  node   = var.stage.node
}

module "db" {
  source = "../machine"
  name   = "${var.name}-db"
  vmid   = var.stage.first + var.stage.web
  node   = var.stage.node
  disks  = var.stage.disks
}

output "ids" { value = concat(module.web[*].id, [module.db.id]) }
