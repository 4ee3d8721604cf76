data "proxwright_nodes" "online" {
  online = true
}

# One VM on each node.
resource "proxwright_vm" "agent" {
  for_each = toset(data.proxwright_nodes.online.names)

  name  = "agent-${each.key}"
  node  = each.key
  clone = { template = "debian-12" }
}
