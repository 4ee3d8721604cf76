locals {
  names = [for number in range(1, var.vm_count + 1) : "${var.vm_name_prefix}-${number}"]

  # Without nulls, so that a VM gets the common value for what it does not set.
  overrides = {
    for name, config in var.vm_configs : name => { for key, value in config : key => value if value != null }
  }
}

# Checks across variables.
resource "terraform_data" "inputs" {
  lifecycle {
    precondition {
      condition     = length(setsubtract(keys(var.vm_configs), local.names)) == 0
      error_message = "vm_configs names VMs that do not exist: ${join(", ", setsubtract(keys(var.vm_configs), local.names))}. There are ${join(", ", local.names)}."
    }
  }
}

resource "proxwright_vm" "ubuntu" {
  for_each = toset(local.names)

  name  = each.key
  node  = var.node
  guest = "cloud-init"
  clone = { template = var.template, mode = "full", storage = var.storage, format = "qcow2" }

  cpu = {
    cores   = lookup(lookup(local.overrides, each.key, {}), "cores", 4)
    sockets = lookup(lookup(local.overrides, each.key, {}), "sockets", 2)
  }
  memory = "${lookup(lookup(local.overrides, each.key, {}), "memory", 32768)}MiB"

  bios = "ovmf"
  efi  = { storage = var.storage, secure_boot = true }

  agent = { enabled = true }
  disks = { scsi0 = { size = lookup(lookup(local.overrides, each.key, {}), "disk_size", "128G") } }
  nics  = { net0 = { bridge = var.bridge, ipv4 = { address = "dhcp" } } }
  boot  = ["scsi0"]

  # Three answers of the agent in a row and an address, and both still hold 30 seconds later.
  ready = {
    pings         = 3
    settle        = "30s"
    exec          = var.verify_system ? [["uname", "-a"]] : null
    agent_service = var.verify_system ? true : null
  }
}

# vm_<id>_ip.txt and vm_<id>_summary.txt, for scripts that need files. Written by a POSIX shell, removed with their VM.
resource "terraform_data" "files" {
  for_each = proxwright_vm.ubuntu

  input = {
    stem    = "${var.files_directory}/vm_${each.value.vmid}"
    ip      = coalesce(each.value.primary_address, "unknown")
    summary = <<-EOT
      VM ${each.value.vmid} ${each.value.name}
      Node: ${each.value.current_node}
      Address: ${coalesce(each.value.primary_address, "unknown")}
      MAC: ${lookup(each.value.macs, "net0", "unknown")}
      CPU: ${each.value.cpu.cores} cores, ${each.value.cpu.sockets} sockets
      Memory: ${each.value.memory}
      Disk: ${each.value.all_disks["scsi0"].size}
      Ready: three answers of the guest agent, settled for 30 s
    EOT
  }
  triggers_replace = [each.value.id, each.value.primary_address, var.files_directory]

  provisioner "local-exec" {
    command = "mkdir -p \"$(dirname \"$STEM\")\" && printf '%s\\n' \"$IP\" > \"$${STEM}_ip.txt\" && printf '%s' \"$SUMMARY\" > \"$${STEM}_summary.txt\""
    environment = {
      STEM    = self.input.stem
      IP      = self.input.ip
      SUMMARY = self.input.summary
    }
  }

  provisioner "local-exec" {
    when    = destroy
    command = "rm -f \"$${STEM}_ip.txt\" \"$${STEM}_summary.txt\""
    environment = {
      STEM = self.input.stem
    }
  }
}
