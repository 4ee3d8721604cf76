variable "noble_sha256" {
  type        = string
  description = "The checksum from SHA256SUMS beside the image."
}

# Proxmox downloads the file, compares the checksum, and stores it under a name that it accepts.
resource "proxwright_image" "noble" {
  node    = "pve1"
  storage = "local"
  content = "import"
  url     = "https://cloud-images.ubuntu.com/noble/20250430/noble-server-cloudimg-amd64.img"
  sha256  = var.noble_sha256
  file    = "noble-20250430.qcow2"
}

# For a server without internet access: download and decompress locally, then upload.
resource "proxwright_image" "talos" {
  node    = "pve1"
  storage = "local"
  content = "import"
  url     = "https://factory.talos.dev/image/376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba/v1.12.4/nocloud-amd64.raw.xz"
  via     = "upload"
  file    = "talos-v1.12.4.raw"
}

# A local file; with its checksum, a changed file replaces the image.
resource "proxwright_image" "installer" {
  node    = "pve1"
  storage = "local"
  content = "iso"
  path    = "build/installer.iso"
  sha256  = filesha256("build/installer.iso")
}
