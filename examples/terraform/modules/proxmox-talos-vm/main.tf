# One node of a Talos cluster: a full clone of a Talos template. Talos has neither SSH nor a guest agent; the node is ready
# when its API answers. Everything that is not set here keeps the value of the template.
resource "proxwright_vm" "node" {
  name = var.name
  node = var.node
  vmid = var.vmid
  role = var.role
  tags = concat(["talos", var.role], var.tags)

  guest = "talos"
  clone = {
    template = var.template_name
    mode     = "full"
    storage  = var.storage
  }

  cpu    = { cores = var.cores, type = "host" }
  memory = var.memory

  # Grow the template's disk.
  disks = { scsi0 = { size = var.disk_size } }

  nics = {
    net0 = {
      bridge = var.bridge
      vlan   = var.vlan
      ipv4   = { address = var.address, gateway = var.gateway }
    }
  }

  boot = ["scsi0", "net0"]

  # PCI Express needs the machine q35; a node without such a device keeps the template's.
  machine = length(var.pci_addresses) > 0 ? "q35" : null
  pci = length(var.pci_addresses) == 0 ? null : {
    for number, address in var.pci_addresses : "hostpci${number}" => { device = address, pcie = true }
  }
}
