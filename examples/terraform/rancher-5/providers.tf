# Endpoint, token and fingerprint come from PROXMOX_VE_ENDPOINT, PROXMOX_VE_API_TOKEN and PROXMOX_VE_FINGERPRINT.
provider "proxwright" {
  rollout = {
    readiness = "parallel"
    # A single disk is fastest with one copy at a time.
    limits = { clones_per_node = 1, clones_per_storage = 1 }
  }
}
