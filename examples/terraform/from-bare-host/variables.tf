variable "node" {
  description = "The Proxmox host, which needs internet access."
  type        = string
  default     = "vmhost"
}

variable "file_storage" {
  description = "Storage for the image and for ISO images: content import and iso."
  type        = string
  default     = "local"
}

variable "disk_storage" {
  description = "Storage for disks that supports linked clones."
  type        = string
  default     = "tank"
}

variable "bridge" {
  description = "Bridge of the network cards."
  type        = string
  default     = "vmbr0"
}

variable "gateway" {
  description = "Gateway of the VMs, which is also their DNS server."
  type        = string
  default     = "10.0.20.1"
}

variable "image_url" {
  description = "Cloud image in qcow2 format."
  type        = string
  default     = "https://cloud-images.ubuntu.com/noble/current/noble-server-cloudimg-amd64.img"
}

variable "image_sha256" {
  description = "Checksum of the image, if its URL always serves the same file. A new checksum builds a new version of the template."
  type        = string
  default     = null
}

variable "ssh_keys" {
  description = "Public keys that may log in as ubuntu."
  type        = list(string)
  default     = []
}

variable "vms" {
  description = "VMs by name. To rename one, change its key and add a moved block."
  type        = map(object({ vmid = number, address = string }))
  default = {
    web-1 = { vmid = 101, address = "10.0.20.11/24" }
    web-2 = { vmid = 102, address = "10.0.20.12/24" }
  }

  validation {
    condition     = alltrue([for vm in values(var.vms) : can(cidrhost(vm.address, 0))])
    error_message = "address is an IPv4 address with its prefix length, such as 10.0.20.11/24."
  }

  validation {
    condition     = length(distinct(values(var.vms)[*].vmid)) == length(var.vms)
    error_message = "Each VM needs a unique vmid."
  }

  validation {
    condition     = length(distinct(values(var.vms)[*].address)) == length(var.vms)
    error_message = "Each VM needs a unique address."
  }
}
