variable "name" {
  description = "Name of the VM."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$", var.name))
    error_message = "name becomes a host name: letters, digits and hyphens, such as k3s-dev-control-1."
  }
}

variable "node" {
  description = "Node of the Proxmox cluster on which the VM is created."
  type        = string
}

variable "vmid" {
  description = "Id of the VM. Null takes the next free one."
  type        = number
  default     = null

  validation {
    condition     = var.vmid == null ? true : var.vmid >= 100 && var.vmid <= 999999999 && floor(var.vmid) == var.vmid
    error_message = "vmid is a whole number from 100 to 999999999; Proxmox keeps the ids below 100 for itself."
  }
}

variable "role" {
  description = "What the node is in the cluster: control-plane or worker."
  type        = string

  validation {
    condition     = contains(["control-plane", "worker"], var.role)
    error_message = "role is control-plane or worker."
  }
}

variable "template_name" {
  description = "Name of the Talos template."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$", var.template_name))
    error_message = "template_name is a template as \"qm list\" shows it: letters, digits, dots and hyphens, such as talos-v1.12.4-base."
  }
}

variable "storage" {
  description = "Storage for the copy of the template's disks."
  type        = string
}

variable "cores" {
  description = "CPU cores."
  type        = number
  default     = 4
}

variable "memory" {
  description = "Memory, with its unit."
  type        = string
  default     = "8GiB"
}

variable "disk_size" {
  description = "Size of the disk after growing the template's, with its unit."
  type        = string
  default     = "100GiB"
}

variable "bridge" {
  description = "Bridge of the network card."
  type        = string
  default     = "vmbr0"
}

variable "vlan" {
  description = "VLAN tag of the network card; 0 for none."
  type        = number
  default     = 0
}

variable "address" {
  description = "IPv4 address of the node with the length of its network, such as 10.0.20.11/24."
  type        = string

  validation {
    condition     = can(cidrhost(var.address, 0)) && can(regex("/", var.address))
    error_message = "address is an IPv4 address with the length of its network, such as 10.0.20.11/24."
  }
}

variable "gateway" {
  description = "Gateway of that network."
  type        = string
}

variable "pci_addresses" {
  description = "PCI devices of the host that the VM gets, such as a GPU: 0000:01:00."
  type        = list(string)
  default     = []

  validation {
    condition = alltrue([
      for address in var.pci_addresses : can(regex("^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f](\\.[0-7])?$", address))
    ])
    error_message = "pci_addresses are written as \"lspci -D\" prints them: 0000:01:00 for a whole device, 0000:01:00.0 for one function."
  }
}

variable "tags" {
  description = "Tags in addition to talos and the role."
  type        = list(string)
  default     = []
}
