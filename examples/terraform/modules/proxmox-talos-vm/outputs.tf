output "vmid" {
  description = "Id of the VM."
  value       = proxwright_vm.node.vmid
}

output "address" {
  description = "IPv4 address of the node; null if none is known."
  value       = proxwright_vm.node.primary_address
}

output "role" {
  description = "control-plane or worker."
  value       = proxwright_vm.node.role
}

output "current_node" {
  description = "Node of the Proxmox cluster where the VM is now."
  value       = proxwright_vm.node.current_node
}

output "macs" {
  description = "MAC addresses by network slot."
  value       = proxwright_vm.node.macs
}
