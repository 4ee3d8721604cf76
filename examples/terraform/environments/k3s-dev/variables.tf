# ---- Where --------------------------------------------------------------------------------------------------------------

variable "proxmox_endpoint" {
  description = "Address of the Proxmox API. PROXMOX_VE_ENDPOINT by default."
  type        = string
  default     = null

  validation {
    condition     = var.proxmox_endpoint == null ? true : can(regex("^https://[^/]+/?$", var.proxmox_endpoint))
    error_message = "proxmox_endpoint is an address such as https://vmhost.lab:8006, without a path."
  }
}

variable "proxmox_fingerprint" {
  description = "SHA-256 fingerprint of the server's certificate. PROXMOX_VE_FINGERPRINT by default."
  type        = string
  default     = null
}

variable "node" {
  description = "Node of the Proxmox cluster on which the VMs are created."
  type        = string

  validation {
    condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$", var.node))
    error_message = "node is the name of a Proxmox node as the web interface shows it, such as vmhost: not an address, no dots."
  }
}

variable "storage" {
  description = "Storage for the disks of the VMs."
  type        = string
  default     = "tank"

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$", var.storage))
    error_message = "storage is the id of a Proxmox storage, such as tank or local-lvm, not a path."
  }
}

# ---- What ---------------------------------------------------------------------------------------------------------------

variable "cluster_name" {
  description = "Name of the cluster; the names of its VMs begin with it."
  type        = string
  default     = "k3s-dev"

  validation {
    condition     = can(regex("^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$", var.cluster_name))
    error_message = "cluster_name becomes part of host names: up to 42 lower-case letters, digits and hyphens, such as k3s-dev."
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

variable "control_plane" {
  description = "The control plane: one VM for each id, in order. Append ids to grow it; their order gives addresses and names."
  type = object({
    vmids      = list(number)
    first_host = optional(number, 11)
    cores      = optional(number, 4)
    memory     = optional(string, "8GiB")
    disk_size  = optional(string, "100GiB")
  })

  validation {
    condition     = contains([1, 3, 5], length(var.control_plane.vmids))
    error_message = "control_plane.vmids needs 1, 3 or 5 ids: etcd needs an odd number of members, and one is for development only."
  }

  validation {
    condition = alltrue([
      for vmid in var.control_plane.vmids : vmid >= 100 && vmid <= 999999999 && floor(vmid) == vmid
    ]) && length(distinct(var.control_plane.vmids)) == length(var.control_plane.vmids)
    error_message = "control_plane.vmids are different whole numbers from 100 to 999999999; Proxmox keeps the ids below 100 for itself."
  }
}

variable "worker_count" {
  description = "Number of workers without a GPU."
  type        = number

  validation {
    condition     = var.worker_count >= 0 && var.worker_count <= 50 && floor(var.worker_count) == var.worker_count
    error_message = "worker_count is a whole number from 0 to 50."
  }
}

variable "worker" {
  description = "The workers: the nth has the id first_vmid + n - 1 and the host number first_host + n - 1."
  type = object({
    first_vmid = optional(number, 102)
    first_host = optional(number, 31)
    cores      = optional(number, 4)
    memory     = optional(string, "16GiB")
    disk_size  = optional(string, "100GiB")
  })
  default = {}

  validation {
    condition     = var.worker.first_vmid >= 100 && var.worker.first_vmid <= 999999949
    error_message = "worker.first_vmid is a whole number from 100 to 999999949, so that all workers have ids above it."
  }
}

variable "gpu_pci_addresses" {
  description = "PCI addresses of GPUs. Each makes one GPU worker, which is tied to its address: order does not matter."
  type        = list(string)

  validation {
    condition = alltrue([
      for address in var.gpu_pci_addresses : can(regex("^[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f](\\.[0-7])?$", address))
    ])
    error_message = "gpu_pci_addresses are written as \"lspci -D\" prints them: 0000:01:00 for a whole card, 0000:01:00.0 for one function."
  }

  validation {
    condition = length(distinct([for address in var.gpu_pci_addresses : try(split(":", address)[1], address)])) == length(
      var.gpu_pci_addresses
    )
    error_message = "gpu_pci_addresses names two devices on one bus: a GPU goes to one VM, and ids and addresses follow from the bus number."
  }
}

variable "gpu_worker" {
  description = "The GPU workers: the one with the card on bus b has the id base_vmid + b and the host number base_host + b."
  type = object({
    base_vmid = optional(number, 200)
    base_host = optional(number, 200)
    cores     = optional(number, 8)
    memory    = optional(string, "32GiB")
    disk_size = optional(string, "100GiB")
  })
  default = {}

  validation {
    condition     = var.gpu_worker.base_vmid >= 100 && var.gpu_worker.base_vmid <= 999999743
    error_message = "gpu_worker.base_vmid is a whole number from 100 to 999999743, so that every bus number has an id above it."
  }
}

# ---- Network ------------------------------------------------------------------------------------------------------------

variable "bridge" {
  description = "Bridge of the network cards."
  type        = string
  default     = "vmbr0"

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9_.-]{0,14}$", var.bridge))
    error_message = "bridge is a bridge or VNet of the Proxmox node, such as vmbr0."
  }
}

variable "vlan" {
  description = "VLAN tag of the network cards; 0 for none."
  type        = number
  default     = 20

  validation {
    condition     = var.vlan >= 0 && var.vlan <= 4094 && floor(var.vlan) == var.vlan
    error_message = "vlan is a whole number from 1 to 4094, or 0 for none."
  }
}

variable "network_cidr" {
  description = "IPv4 network of the nodes."
  type        = string

  validation {
    condition     = try(cidrhost(var.network_cidr, 0) == split("/", var.network_cidr)[0] && tonumber(split("/", var.network_cidr)[1]) <= 29, false)
    error_message = "network_cidr is an IPv4 network with its length, at most 29, such as 10.0.20.0/24: the address of the network, not of a host in it."
  }
}

variable "gateway" {
  description = "Gateway of that network."
  type        = string

  validation {
    condition     = can(cidrhost("${var.gateway}/32", 0))
    error_message = "gateway is an IPv4 address without a length, such as 10.0.20.1."
  }
}

variable "cluster_vip" {
  description = "Virtual address of the Kubernetes API. The first control plane's by default."
  type        = string
  default     = null

  validation {
    condition     = var.cluster_vip == null ? true : can(cidrhost("${var.cluster_vip}/32", 0))
    error_message = "cluster_vip is an IPv4 address without a length, such as 10.0.20.10."
  }
}
