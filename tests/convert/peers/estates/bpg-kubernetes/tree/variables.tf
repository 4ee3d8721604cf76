variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

variable "clusters" {
  type = map(object({
    machines = map(object({
      node     = string
      role     = string
      cores    = optional(number, 2)
      memory   = optional(number, 2048)
      address  = optional(string)
      gpu      = optional(string)
      data     = optional(list(number), [])
      snippets = optional(bool, false)
    }))
  }))
}
