data "proxwright_template" "debian" {
  name = "debian-12"
}

resource "proxwright_vm" "web" {
  name  = "web-1"
  node  = data.proxwright_template.debian.node
  clone = { template = data.proxwright_template.debian.vmid }
}
