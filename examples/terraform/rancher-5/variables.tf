variable "node" {
  description = "Node of the Proxmox cluster on which the VMs are created."
  type        = string
  default     = "pve1"
}

variable "template" {
  description = "Template with cloud-init and the guest agent."
  type        = string
  default     = "ubuntu-24.04"
}

variable "bridge" {
  description = "Bridge of the network cards."
  type        = string
  default     = "vmbr1"
}

variable "vlan" {
  description = "VLAN tag of the network cards."
  type        = number
  default     = 20

  validation {
    condition     = var.vlan >= 1 && var.vlan <= 4094
    error_message = "vlan is a whole number from 1 to 4094."
  }
}

variable "ssh_keys" {
  description = "Public keys that may log in as ubuntu."
  type        = list(string)
  default     = []
}
