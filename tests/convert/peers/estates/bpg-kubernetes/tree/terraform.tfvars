clusters = {
  prod = {
    machines = {
      "cp-1"  = { node = "pve1", role = "control", address = "10.10.0.61" }
      "cp-2"  = { node = "pve2", role = "control", address = "10.10.0.62" }
      "w-1"   = { node = "pve1", role = "worker", cores = 4, memory = 4096, data = [4, 2] }
      "w-2"   = { node = "pve2", role = "worker", cores = 4, memory = 4096, data = [3], snippets = false }
      "gpu-1" = { node = "pve1", role = "worker", cores = 8, memory = 8192, gpu = "gpu" }
    }
  }
  test = {
    machines = {
      "cp-1" = { node = "pve1", role = "control", snippets = true }
    }
  }
}
