# Endpoint, token and fingerprint come from PROXMOX_VE_ENDPOINT, PROXMOX_VE_API_TOKEN and PROXMOX_VE_FINGERPRINT.
provider "proxwright" {
  rollout = {
    # Between two creations, whatever -parallelism is.
    stagger = "${var.deployment_delay}s"
    # VM n is awaited when VM n-1 is ready, while creations go on.
    readiness = "sequential"
    timeouts  = { ready = "30m" }
  }
}
