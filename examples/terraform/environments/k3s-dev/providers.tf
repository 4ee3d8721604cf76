# The token is in no file: it comes from PROXMOX_VE_API_TOKEN. Endpoint and fingerprint come from PROXMOX_VE_ENDPOINT and
# PROXMOX_VE_FINGERPRINT (or PROXMOX_VE_CA_FILE) where they are not given here.
provider "proxwright" {
  endpoint    = var.proxmox_endpoint
  fingerprint = var.proxmox_fingerprint
}
