# The contract for the tool that bootstraps Talos. Names and shapes change only with contract_version; an address that is not
# known yet is null, never missing.

output "contract_version" {
  description = "Version of this set of outputs."
  value       = 1
}

output "talos_control_plane_endpoints" {
  description = "Addresses of the control planes, in order."
  value       = [for name in keys(local.control_planes) : module.node[name].address]
}

output "talos_cluster_endpoint" {
  description = "Address of the Kubernetes API: the virtual address, or the first control plane's."
  value       = format("https://%s:6443", coalesce(var.cluster_vip, module.node["${var.cluster_name}-control-1"].address))
}

output "talos_node_ips" {
  description = "Addresses of all nodes, by VM name."
  value       = { for name, node in module.node : name => node.address }
}

output "talos_node_roles" {
  description = "Roles of all nodes, by VM name: control-plane or worker."
  value       = { for name, node in module.node : name => node.role }
}

output "talos_vm_ids" {
  description = "IDs of all VMs, by VM name."
  value       = { for name, node in module.node : name => node.vmid }
}

output "control_plane_ips" {
  description = "Deprecated, removed in contract version 2: read talos_control_plane_endpoints."
  value       = [for name in keys(local.control_planes) : module.node[name].address]
}

output "worker_ips" {
  description = "Deprecated, removed in contract version 2: read talos_node_ips and talos_node_roles."
  value = concat(
    [for index in range(var.worker_count) : module.node["${var.cluster_name}-worker-${index + 1}"].address],
    [for name in keys(local.gpu_workers) : module.node[name].address],
  )
}

output "vm_ids" {
  description = "Deprecated, removed in contract version 2: read talos_vm_ids."
  value       = { for name, node in module.node : name => node.vmid }
}
