variable "noble_sha256" {
  type        = string
  description = "As it stands in SHA256SUMS beside the image."
}

# Proxmox downloads it itself, compares the checksum, and keeps it under a name that it accepts.
resource "proxwright_image" "noble" {
  node    = "pve1"
  storage = "local"
  content = "import"
  url     = "https://cloud-images.ubuntu.com/noble/20250430/noble-server-cloudimg-amd64.img"
  sha256  = var.noble_sha256
  file    = "noble-20250430.qcow2"
}

# A server without a way out: it is fetched and unpacked here, and sent.
resource "proxwright_image" "talos" {
  node    = "pve1"
  storage = "local"
  content = "import"
  url     = "https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.12.4/nocloud-amd64.raw.xz"
  via     = "upload"
  file    = "talos-v1.12.4.raw"
}

# A local file; its checksum makes a changed file a changed image.
resource "proxwright_image" "installer" {
  node    = "pve1"
  storage = "local"
  content = "iso"
  path    = "build/installer.iso"
  sha256  = filesha256("build/installer.iso")
}
