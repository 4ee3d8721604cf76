# The token comes from PROXMOX_VE_API_TOKEN, never from a file. Endpoint and fingerprint come from PROXMOX_VE_ENDPOINT and
# PROXMOX_VE_FINGERPRINT (or PROXMOX_VE_CA_FILE) unless you set them here.
provider "proxwright" {
  endpoint    = var.proxmox_endpoint
  fingerprint = var.proxmox_fingerprint
}
