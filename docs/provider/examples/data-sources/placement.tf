locals {
  workers = [for number in range(1, 5) : "worker-${number}"]
  size    = "8GiB"
}

data "proxwright_placement" "cluster" {
  nodes = ["pve1", "pve2", "pve3", "pve4"]
  zones = { "rack-a" = ["pve1", "pve2"], "rack-b" = ["pve3", "pve4"] }

  groups = {
    "control" = {
      names     = ["control-1", "control-2", "control-3"]
      clone     = { template = "debian-12" }
      memory    = "4GiB"
      placement = { max_per_node = 1 }
    }
    "worker" = {
      names     = local.workers
      clone     = { template = "debian-12" }
      memory    = local.size
      placement = { keep_free = "10%" }
    }
  }
}

resource "proxwright_vm" "worker" {
  for_each = toset(local.workers)

  name   = each.key
  node   = data.proxwright_placement.cluster.node[each.key]
  clone  = { template = "debian-12" }
  memory = local.size
}
