locals {
  prefix_length = split("/", var.network_cidr)[1]

  control_planes = {
    for index, vmid in var.control_plane.vmids : "${var.cluster_name}-control-${index + 1}" => {
      role = "control-plane", vmid = vmid, host = var.control_plane.first_host + index
      size = var.control_plane, pci = [], tags = []
    }
  }

  workers = {
    for index in range(var.worker_count) : "${var.cluster_name}-worker-${index + 1}" => {
      role = "worker", vmid = var.worker.first_vmid + index, host = var.worker.first_host + index
      size = var.worker, pci = [], tags = []
    }
  }

  # By bus, so that removing a card does not affect the others.
  gpu_workers = {
    for address in var.gpu_pci_addresses : "${var.cluster_name}-gpu-${split(":", address)[1]}" => {
      role = "worker"
      vmid = var.gpu_worker.base_vmid + parseint(split(":", address)[1], 16)
      host = var.gpu_worker.base_host + parseint(split(":", address)[1], 16)
      size = var.gpu_worker, pci = [address], tags = ["gpu"]
    }
  }

  nodes = merge(local.control_planes, local.workers, local.gpu_workers)
  hosts = [for node in values(local.nodes) : cidrhost(var.network_cidr, node.host)]
}

# Checks across variables. A provider sees one resource at a time, so only this finds two VMs with the same ID.
resource "terraform_data" "inputs" {
  lifecycle {
    precondition {
      condition     = length(distinct([for node in values(local.nodes) : node.vmid])) == length(local.nodes)
      error_message = "Two VMs would have one id: keep control_plane.vmids, worker.first_vmid (${var.worker_count} ids) and gpu_worker.base_vmid apart."
    }

    precondition {
      condition     = length(distinct(concat(local.hosts, [var.gateway], var.cluster_vip == null ? [] : [var.cluster_vip]))) == length(local.nodes) + (var.cluster_vip == null ? 1 : 2)
      error_message = "One address would be used twice: keep the host numbers of control_plane, worker and gpu_worker, the gateway and cluster_vip apart."
    }

    precondition {
      condition = alltrue([
        for address in compact([var.gateway, var.cluster_vip]) : cidrhost("${address}/${local.prefix_length}", 0) == cidrhost(var.network_cidr, 0)
      ])
      error_message = "gateway and cluster_vip must lie in network_cidr, ${var.network_cidr}."
    }
  }
}

module "node" {
  source   = "../../modules/proxmox-talos-vm"
  for_each = local.nodes

  name          = each.key
  node          = var.node
  vmid          = each.value.vmid
  role          = each.value.role
  tags          = concat([var.cluster_name], each.value.tags)
  template_name = var.template_name
  storage       = var.storage
  cores         = each.value.size.cores
  memory        = each.value.size.memory
  disk_size     = each.value.size.disk_size
  bridge        = var.bridge
  vlan          = var.vlan
  address       = "${cidrhost(var.network_cidr, each.value.host)}/${local.prefix_length}"
  gateway       = var.gateway
  pci_addresses = each.value.pci
}
