# Endpoint, token and fingerprint come from PROXMOX_VE_ENDPOINT, PROXMOX_VE_API_TOKEN and PROXMOX_VE_FINGERPRINT.
provider "proxwright" {
  rollout = { readiness = "parallel" }
}
