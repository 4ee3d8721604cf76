terraform {
  required_providers {
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
    }
  }
}

# The token comes from PROXMOX_VE_API_TOKEN.
provider "proxwright" {
  endpoint = "https://pve1.example.org:8006"

  rollout = {
    stagger = "15s"
    limits  = { clones_per_storage = 1 }
  }
}
