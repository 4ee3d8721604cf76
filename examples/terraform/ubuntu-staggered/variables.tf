variable "vm_count" {
  description = "Number of VMs."
  type        = number
  default     = 2

  validation {
    condition     = var.vm_count >= 1 && var.vm_count <= 50 && floor(var.vm_count) == var.vm_count
    error_message = "vm_count is a whole number from 1 to 50."
  }
}

variable "deployment_delay" {
  description = "Seconds between the creations of two VMs."
  type        = number
  default     = 30

  validation {
    condition     = var.deployment_delay >= 0 && var.deployment_delay <= 3600 && floor(var.deployment_delay) == var.deployment_delay
    error_message = "deployment_delay is a whole number of seconds from 0 to 3600."
  }
}

variable "vm_name_prefix" {
  description = "Prefix of the VM names: ubuntu-opentofu gives ubuntu-opentofu-1, ubuntu-opentofu-2 and so on."
  type        = string
  default     = "ubuntu-opentofu"

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9-]{0,58}[A-Za-z0-9])?$", var.vm_name_prefix))
    error_message = "vm_name_prefix becomes part of host names: up to 60 letters, digits and hyphens, such as web-server."
  }
}

variable "vm_configs" {
  description = "Settings of individual VMs, by VM name. memory is in MiB, disk_size as 128G."
  type = map(object({
    cores     = optional(number)
    sockets   = optional(number)
    memory    = optional(number)
    disk_size = optional(string)
  }))
  default = {}

  validation {
    condition     = alltrue([for each in values(var.vm_configs) : each.memory == null ? true : each.memory >= 512])
    error_message = "vm_configs: memory is in MiB and at least 512, such as 16384 for 16 GiB."
  }

  validation {
    condition     = alltrue([for each in values(var.vm_configs) : each.disk_size == null ? true : can(regex("^[0-9]+(G|T|GiB|TiB)$", each.disk_size))])
    error_message = "vm_configs: disk_size carries its unit, such as 128G."
  }
}

variable "node" {
  description = "Node of the Proxmox cluster on which the VMs are created."
  type        = string
  default     = "pve1"
}

variable "template" {
  description = "Template with Ubuntu, cloud-init and the guest agent."
  type        = string
  default     = "ubuntu"
}

variable "storage" {
  description = "Storage that can hold qcow2 files."
  type        = string
  default     = "ssd"
}

variable "bridge" {
  description = "Bridge with a DHCP server."
  type        = string
  default     = "vmbr1"
}

variable "verify_system" {
  description = "Also run uname -a in each guest and check the service of its agent. This needs VM.GuestAgent.Unrestricted, which is root in every guest."
  type        = bool
  default     = false
}

variable "files_directory" {
  description = "Directory for the files about each VM."
  type        = string
  default     = "out"
}
