# Endpoint, token and fingerprint come from PROXMOX_VE_ENDPOINT, PROXMOX_VE_API_TOKEN and PROXMOX_VE_FINGERPRINT.
provider "proxwright" {
  rollout = {
    # Between two creations, regardless of -parallelism.
    stagger = "${var.deployment_delay}s"
    # Wait for VM n when VM n-1 is ready, while creations continue.
    readiness = "sequential"
    timeouts  = { ready = "30m" }
  }
}
