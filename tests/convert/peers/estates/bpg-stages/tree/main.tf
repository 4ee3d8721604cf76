# Stages of one application: modules in modules, with count and for_each, and variables that are checked.
terraform {
  required_providers {
    proxmox = {
      source = "bpg/proxmox"
    }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  endpoint  = var.endpoint
  api_token = "${var.token_id}=${var.token_secret}"
  insecure  = true
}

variable "stages" {
  type = map(object({
    first = number
    node  = optional(string, "pve1")
    web   = optional(number, 1)
    disks = optional(map(object({ size = number, ssd = optional(bool) })), {})
  }))
  validation {
    condition     = alltrue([for stage in var.stages : stage.first >= 100])
    error_message = "Ids begin at 100."
  }
}

module "stage" {
  source   = "./modules/stage"
  for_each = var.stages
  name     = each.key
  stage    = each.value
}

module "extra" {
  source = "./modules/stage"
  count  = length(var.stages) > 1 ? 1 : 0
  name   = "extra"
  stage  = { first = 2070, node = "pve2", web = 1, disks = {} }
}

output "ids" { value = { for name, stage in module.stage : name => stage.ids } }
