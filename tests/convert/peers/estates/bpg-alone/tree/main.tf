# Every attribute that people set, each on a VM of its own.
terraform {
  required_providers {
    proxmox = { source = "bpg/proxmox" }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  endpoint  = var.endpoint
  api_token = "${var.token_id}=${var.token_secret}"
  insecure  = true
}

resource "proxmox_virtual_environment_vm" "nothing" {
  name      = "nothing"
  node_name = "pve1"
  vm_id     = 1100
  started   = false
}

resource "proxmox_virtual_environment_vm" "description" {
  name      = "description"
  node_name = "pve1"
  vm_id     = 1101
  started   = false

  description = "Made for one attribute."
}

resource "proxmox_virtual_environment_vm" "tags" {
  name      = "tags"
  node_name = "pve1"
  vm_id     = 1102
  started   = false

  tags = ["b", "a"]
}

resource "proxmox_virtual_environment_vm" "on_boot" {
  name      = "on-boot"
  node_name = "pve1"
  vm_id     = 1103
  started   = false

  on_boot = true
}

resource "proxmox_virtual_environment_vm" "not_on_boot" {
  name      = "not-on-boot"
  node_name = "pve1"
  vm_id     = 1104
  started   = false

  on_boot = false
}

resource "proxmox_virtual_environment_vm" "acpi" {
  name      = "acpi"
  node_name = "pve1"
  vm_id     = 1105
  started   = false

  acpi = false
}

resource "proxmox_virtual_environment_vm" "stop_on_destroy" {
  name      = "stop-on-destroy"
  node_name = "pve1"
  vm_id     = 1106
  started   = false

  stop_on_destroy = true
}

resource "proxmox_virtual_environment_vm" "pool" {
  name      = "pool"
  node_name = "pve1"
  vm_id     = 1107
  started   = false

  pool_id = "lab"
}

resource "proxmox_virtual_environment_vm" "migrate" {
  name      = "migrate"
  node_name = "pve1"
  vm_id     = 1108
  started   = false

  migrate = true
}

resource "proxmox_virtual_environment_vm" "reboot_after_update" {
  name      = "reboot-after-update"
  node_name = "pve1"
  vm_id     = 1109
  started   = false

  reboot_after_update = false
}

resource "proxmox_virtual_environment_vm" "scsi_hardware" {
  name      = "scsi-hardware"
  node_name = "pve1"
  vm_id     = 1110
  started   = false

  scsi_hardware = "virtio-scsi-single"
}

resource "proxmox_virtual_environment_vm" "tablet" {
  name      = "tablet"
  node_name = "pve1"
  vm_id     = 1111
  started   = false

  tablet_device = false
}

resource "proxmox_virtual_environment_vm" "keyboard" {
  name      = "keyboard"
  node_name = "pve1"
  vm_id     = 1112
  started   = false

  keyboard_layout = "de"
}

resource "proxmox_virtual_environment_vm" "machine" {
  name      = "machine"
  node_name = "pve1"
  vm_id     = 1113
  started   = false

  machine = "q35"
}

resource "proxmox_virtual_environment_vm" "machine_viommu" {
  name      = "machine-viommu"
  node_name = "pve1"
  vm_id     = 1114
  started   = false

  machine = "q35,viommu=virtio"
}

resource "proxmox_virtual_environment_vm" "hotplug" {
  name      = "hotplug"
  node_name = "pve1"
  vm_id     = 1115
  started   = false

  hotplug = "network,disk"
}

resource "proxmox_virtual_environment_vm" "timeout_clone" {
  name      = "timeout-clone"
  node_name = "pve1"
  vm_id     = 1116
  started   = false

  timeout_clone = 900
}

resource "proxmox_virtual_environment_vm" "timeout_start" {
  name      = "timeout-start"
  node_name = "pve1"
  vm_id     = 1117
  started   = false

  timeout_start_vm = 300
}

resource "proxmox_virtual_environment_vm" "timeout_shutdown" {
  name      = "timeout-shutdown"
  node_name = "pve1"
  vm_id     = 1118
  started   = false

  timeout_shutdown_vm = 300
}

resource "proxmox_virtual_environment_vm" "bios_with_bare_efi" {
  name      = "bios-with-bare-efi"
  node_name = "pve1"
  vm_id     = 1119
  started   = false

  bios = "ovmf"
  efi_disk {}
}

resource "proxmox_virtual_environment_vm" "efi_type" {
  name      = "efi-type"
  node_name = "pve1"
  vm_id     = 1120
  started   = false

  bios = "ovmf"
  efi_disk {
    type = "4m"
  }
}

resource "proxmox_virtual_environment_vm" "efi_keys" {
  name      = "efi-keys"
  node_name = "pve1"
  vm_id     = 1121
  started   = false

  bios = "ovmf"
  efi_disk {
    type              = "4m"
    pre_enrolled_keys = true
  }
}

resource "proxmox_virtual_environment_vm" "tpm_bare" {
  name      = "tpm-bare"
  node_name = "pve1"
  vm_id     = 1122
  started   = false

  tpm_state {}
}

resource "proxmox_virtual_environment_vm" "tpm_version" {
  name      = "tpm-version"
  node_name = "pve1"
  vm_id     = 1123
  started   = false

  machine = "q35"
  tpm_state {
    version = "v2.0"
  }
}

resource "proxmox_virtual_environment_vm" "os" {
  name      = "os"
  node_name = "pve1"
  vm_id     = 1124
  started   = false

  operating_system {
    type = "win11"
  }
}

resource "proxmox_virtual_environment_vm" "startup_order" {
  name      = "startup-order"
  node_name = "pve1"
  vm_id     = 1125
  started   = false

  startup {
    order = 3
  }
}

resource "proxmox_virtual_environment_vm" "startup_up" {
  name      = "startup-up"
  node_name = "pve1"
  vm_id     = 1126
  started   = false

  startup {
    order    = 1
    up_delay = 30
  }
}

resource "proxmox_virtual_environment_vm" "startup_down" {
  name      = "startup-down"
  node_name = "pve1"
  vm_id     = 1127
  started   = false

  startup {
    order      = 1
    down_delay = 30
  }
}

resource "proxmox_virtual_environment_vm" "cores" {
  name      = "cores"
  node_name = "pve1"
  vm_id     = 1128
  started   = false

  cpu {
    cores = 3
  }
}

resource "proxmox_virtual_environment_vm" "sockets" {
  name      = "sockets"
  node_name = "pve1"
  vm_id     = 1129
  started   = false

  cpu {
    sockets = 2
  }
}

resource "proxmox_virtual_environment_vm" "cpu_type" {
  name      = "cpu-type"
  node_name = "pve1"
  vm_id     = 1130
  started   = false

  cpu {
    type = "host"
  }
}

resource "proxmox_virtual_environment_vm" "cpu_flags" {
  name      = "cpu-flags"
  node_name = "pve1"
  vm_id     = 1131
  started   = false

  cpu {
    flags = ["+aes"]
  }
}

resource "proxmox_virtual_environment_vm" "cpu_limit" {
  name      = "cpu-limit"
  node_name = "pve1"
  vm_id     = 1132
  started   = false

  cpu {
    limit = 2
  }
}

resource "proxmox_virtual_environment_vm" "cpu_units" {
  name      = "cpu-units"
  node_name = "pve1"
  vm_id     = 1133
  started   = false

  cpu {
    units = 500
  }
}

resource "proxmox_virtual_environment_vm" "cpu_numa" {
  name      = "cpu-numa"
  node_name = "pve1"
  vm_id     = 1134
  started   = false

  cpu {
    numa = true
  }
}

resource "proxmox_virtual_environment_vm" "cpu_hotplugged" {
  name      = "cpu-hotplugged"
  node_name = "pve1"
  vm_id     = 1135
  started   = false

  cpu {
    cores      = 4
    hotplugged = 2
  }
}

resource "proxmox_virtual_environment_vm" "memory" {
  name      = "memory"
  node_name = "pve1"
  vm_id     = 1136
  started   = false

  memory {
    dedicated = 1536
  }
}

resource "proxmox_virtual_environment_vm" "balloon" {
  name      = "balloon"
  node_name = "pve1"
  vm_id     = 1137
  started   = false

  memory {
    dedicated = 2048
    floating  = 1024
  }
}

resource "proxmox_virtual_environment_vm" "no_balloon" {
  name      = "no-balloon"
  node_name = "pve1"
  vm_id     = 1138
  started   = false

  memory {
    dedicated = 2048
    floating  = 0
  }
}

resource "proxmox_virtual_environment_vm" "disk_bare" {
  name      = "disk-bare"
  node_name = "pve1"
  vm_id     = 1139
  started   = false

  disk {
    interface = "scsi0"
  }
}

resource "proxmox_virtual_environment_vm" "disk_size" {
  name      = "disk-size"
  node_name = "pve1"
  vm_id     = 1140
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
  }
}

resource "proxmox_virtual_environment_vm" "disk_virtio" {
  name      = "disk-virtio"
  node_name = "pve1"
  vm_id     = 1141
  started   = false

  disk {
    interface    = "virtio3"
    datastore_id = "local-lvm"
    size         = 2
  }
}

resource "proxmox_virtual_environment_vm" "disk_sata" {
  name      = "disk-sata"
  node_name = "pve1"
  vm_id     = 1142
  started   = false

  disk {
    interface    = "sata1"
    datastore_id = "local-lvm"
    size         = 2
  }
}

resource "proxmox_virtual_environment_vm" "disk_aio" {
  name      = "disk-aio"
  node_name = "pve1"
  vm_id     = 1143
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    aio          = "native"
    cache        = "none"
  }
}

resource "proxmox_virtual_environment_vm" "disk_backup" {
  name      = "disk-backup"
  node_name = "pve1"
  vm_id     = 1144
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    backup       = false
  }
}

resource "proxmox_virtual_environment_vm" "disk_cache" {
  name      = "disk-cache"
  node_name = "pve1"
  vm_id     = 1145
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    cache        = "writeback"
  }
}

resource "proxmox_virtual_environment_vm" "disk_discard" {
  name      = "disk-discard"
  node_name = "pve1"
  vm_id     = 1146
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    discard      = "on"
  }
}

resource "proxmox_virtual_environment_vm" "disk_ignore" {
  name      = "disk-ignore"
  node_name = "pve1"
  vm_id     = 1147
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    discard      = "ignore"
  }
}

resource "proxmox_virtual_environment_vm" "disk_iothread" {
  name      = "disk-iothread"
  node_name = "pve1"
  vm_id     = 1148
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    iothread     = true
  }
}

resource "proxmox_virtual_environment_vm" "disk_replicate" {
  name      = "disk-replicate"
  node_name = "pve1"
  vm_id     = 1149
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    replicate    = false
  }
}

resource "proxmox_virtual_environment_vm" "disk_serial" {
  name      = "disk-serial"
  node_name = "pve1"
  vm_id     = 1150
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    serial       = "ABC-1"
  }
}

resource "proxmox_virtual_environment_vm" "disk_ssd" {
  name      = "disk-ssd"
  node_name = "pve1"
  vm_id     = 1151
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    ssd          = true
  }
}

resource "proxmox_virtual_environment_vm" "disk_format" {
  name      = "disk-format"
  node_name = "pve1"
  vm_id     = 1152
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "nfs"
    size         = 4
    file_format  = "qcow2"
  }
}

resource "proxmox_virtual_environment_vm" "disk_raw" {
  name      = "disk-raw"
  node_name = "pve1"
  vm_id     = 1153
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "nfs"
    size         = 4
    file_format  = "raw"
  }
}

resource "proxmox_virtual_environment_vm" "disk_image" {
  name      = "disk-image"
  node_name = "pve1"
  vm_id     = 1154
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    import_from  = "local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2"
    size         = 4
  }
}

resource "proxmox_virtual_environment_vm" "disk_image_of_default_size" {
  name      = "disk-image-of-default-size"
  node_name = "pve1"
  vm_id     = 1155
  started   = false

  disk {
    interface   = "scsi0"
    import_from = "local:import/ubuntu-24.04-server-cloudimg-amd64.qcow2"
  }
}

resource "proxmox_virtual_environment_vm" "speed_read" {
  name      = "speed-read"
  node_name = "pve1"
  vm_id     = 1156
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    speed {
      read = 50
    }
  }
}

resource "proxmox_virtual_environment_vm" "speed_write" {
  name      = "speed-write"
  node_name = "pve1"
  vm_id     = 1157
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    speed {
      write = 50
    }
  }
}

resource "proxmox_virtual_environment_vm" "speed_iops_read" {
  name      = "speed-iops-read"
  node_name = "pve1"
  vm_id     = 1158
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    speed {
      iops_read = 500
    }
  }
}

resource "proxmox_virtual_environment_vm" "speed_iops_write" {
  name      = "speed-iops-write"
  node_name = "pve1"
  vm_id     = 1159
  started   = false

  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
    speed {
      iops_write = 500
    }
  }
}

resource "proxmox_virtual_environment_vm" "boot_order" {
  name      = "boot-order"
  node_name = "pve1"
  vm_id     = 1160
  started   = false

  boot_order = ["scsi0", "net0"]
  disk {
    interface    = "scsi0"
    datastore_id = "local-lvm"
    size         = 4
  }
  network_device {
    bridge = "vmbr0"
  }
}

resource "proxmox_virtual_environment_vm" "cdrom" {
  name      = "cdrom"
  node_name = "pve1"
  vm_id     = 1161
  started   = false

  cdrom {
    file_id = "local:iso/debian-13.1.0-amd64-netinst.iso"
  }
}

resource "proxmox_virtual_environment_vm" "cdrom_slot" {
  name      = "cdrom-slot"
  node_name = "pve1"
  vm_id     = 1162
  started   = false

  cdrom {
    interface = "ide0"
    file_id   = "local:iso/debian-13.1.0-amd64-netinst.iso"
  }
}

resource "proxmox_virtual_environment_vm" "cdrom_empty" {
  name      = "cdrom-empty"
  node_name = "pve1"
  vm_id     = 1163
  started   = false

  cdrom {
    file_id = "none"
  }
}

resource "proxmox_virtual_environment_vm" "nic_bare" {
  name      = "nic-bare"
  node_name = "pve1"
  vm_id     = 1164
  started   = false

  network_device {}
}

resource "proxmox_virtual_environment_vm" "nic_bridge" {
  name      = "nic-bridge"
  node_name = "pve1"
  vm_id     = 1165
  started   = false

  network_device {
    bridge = "vmbr1"
  }
}

resource "proxmox_virtual_environment_vm" "nic_model" {
  name      = "nic-model"
  node_name = "pve1"
  vm_id     = 1166
  started   = false

  network_device {
    bridge = "vmbr0"
    model  = "e1000"
  }
}

resource "proxmox_virtual_environment_vm" "nic_mac" {
  name      = "nic-mac"
  node_name = "pve1"
  vm_id     = 1167
  started   = false

  network_device {
    bridge      = "vmbr0"
    mac_address = "BC:24:11:AA:00:01"
  }
}

resource "proxmox_virtual_environment_vm" "nic_mtu" {
  name      = "nic-mtu"
  node_name = "pve1"
  vm_id     = 1168
  started   = false

  network_device {
    bridge = "vmbr0"
    mtu    = 1400
  }
}

resource "proxmox_virtual_environment_vm" "nic_queues" {
  name      = "nic-queues"
  node_name = "pve1"
  vm_id     = 1169
  started   = false

  network_device {
    bridge = "vmbr0"
    queues = 2
  }
}

resource "proxmox_virtual_environment_vm" "nic_firewall" {
  name      = "nic-firewall"
  node_name = "pve1"
  vm_id     = 1170
  started   = false

  network_device {
    bridge   = "vmbr0"
    firewall = true
  }
}

resource "proxmox_virtual_environment_vm" "nic_rate" {
  name      = "nic-rate"
  node_name = "pve1"
  vm_id     = 1171
  started   = false

  network_device {
    bridge     = "vmbr0"
    rate_limit = 10
  }
}

resource "proxmox_virtual_environment_vm" "nic_vlan" {
  name      = "nic-vlan"
  node_name = "pve1"
  vm_id     = 1172
  started   = false

  network_device {
    bridge  = "vmbr0"
    vlan_id = 20
  }
}

resource "proxmox_virtual_environment_vm" "nic_disconnected" {
  name      = "nic-disconnected"
  node_name = "pve1"
  vm_id     = 1173
  started   = false

  network_device {
    bridge       = "vmbr0"
    disconnected = true
  }
}

resource "proxmox_virtual_environment_vm" "nic_trunks" {
  name      = "nic-trunks"
  node_name = "pve1"
  vm_id     = 1174
  started   = false

  network_device {
    bridge = "vmbr1"
    trunks = "10;20"
  }
}

resource "proxmox_virtual_environment_vm" "clone" {
  name      = "clone"
  node_name = "pve1"
  vm_id     = 1175
  started   = false

  clone {
    vm_id = 9000
  }
}

resource "proxmox_virtual_environment_vm" "clone_full" {
  name      = "clone-full"
  node_name = "pve1"
  vm_id     = 1176
  started   = false

  clone {
    vm_id = 9000
    full  = true
  }
}

resource "proxmox_virtual_environment_vm" "clone_linked" {
  name      = "clone-linked"
  node_name = "pve1"
  vm_id     = 1177
  started   = false

  clone {
    vm_id = 9000
    full  = false
  }
}

resource "proxmox_virtual_environment_vm" "clone_storage" {
  name      = "clone-storage"
  node_name = "pve1"
  vm_id     = 1178
  started   = false

  clone {
    vm_id        = 9000
    full         = true
    datastore_id = "nfs"
  }
}

resource "proxmox_virtual_environment_vm" "init_storage" {
  name      = "init-storage"
  node_name = "pve1"
  vm_id     = 1179
  started   = false

  initialization {
    datastore_id = "local-lvm"
  }
}

resource "proxmox_virtual_environment_vm" "init_interface" {
  name      = "init-interface"
  node_name = "pve1"
  vm_id     = 1180
  started   = false

  initialization {
    datastore_id = "local-lvm"
    interface    = "ide0"
  }
}

resource "proxmox_virtual_environment_vm" "init_upgrade" {
  name      = "init-upgrade"
  node_name = "pve1"
  vm_id     = 1181
  started   = false

  initialization {
    datastore_id = "local-lvm"
    upgrade      = false
  }
}

resource "proxmox_virtual_environment_vm" "init_type" {
  name      = "init-type"
  node_name = "pve1"
  vm_id     = 1182
  started   = false

  initialization {
    datastore_id = "local-lvm"
    type         = "nocloud"
  }
}

resource "proxmox_virtual_environment_vm" "init_dns" {
  name      = "init-dns"
  node_name = "pve1"
  vm_id     = 1183
  started   = false

  initialization {
    datastore_id = "local-lvm"
    dns {
      domain  = "lab.example"
      servers = ["10.0.0.53"]
    }
  }
}

resource "proxmox_virtual_environment_vm" "init_dhcp" {
  name      = "init-dhcp"
  node_name = "pve1"
  vm_id     = 1184
  started   = false

  initialization {
    datastore_id = "local-lvm"
    ip_config {
      ipv4 {
        address = "dhcp"
      }
    }
  }
}

resource "proxmox_virtual_environment_vm" "init_static" {
  name      = "init-static"
  node_name = "pve1"
  vm_id     = 1185
  started   = false

  initialization {
    datastore_id = "local-lvm"
    ip_config {
      ipv4 {
        address = "10.0.20.9/24"
        gateway = "10.0.20.1"
      }
    }
  }
}

resource "proxmox_virtual_environment_vm" "init_ipv6" {
  name      = "init-ipv6"
  node_name = "pve1"
  vm_id     = 1186
  started   = false

  initialization {
    datastore_id = "local-lvm"
    ip_config {
      ipv6 {
        address = "auto"
      }
    }
  }
}

resource "proxmox_virtual_environment_vm" "init_user" {
  name      = "init-user"
  node_name = "pve1"
  vm_id     = 1187
  started   = false

  initialization {
    datastore_id = "local-lvm"
    user_account {
      username = "ops"
    }
  }
}

resource "proxmox_virtual_environment_vm" "init_keys" {
  name      = "init-keys"
  node_name = "pve1"
  vm_id     = 1188
  started   = false

  initialization {
    datastore_id = "local-lvm"
    user_account {
      keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 ops@lab"]
    }
  }
}

resource "proxmox_virtual_environment_vm" "init_password" {
  name      = "init-password"
  node_name = "pve1"
  vm_id     = 1189
  started   = false

  initialization {
    datastore_id = "local-lvm"
    user_account {
      username = "ops"
      password = "correct horse battery"
    }
  }
}

resource "proxmox_virtual_environment_vm" "init_user_data" {
  name      = "init-user-data"
  node_name = "pve1"
  vm_id     = 1190
  started   = false

  initialization {
    datastore_id      = "local-lvm"
    user_data_file_id = "local:snippets/user.yaml"
  }
}

resource "proxmox_virtual_environment_vm" "init_vendor_data" {
  name      = "init-vendor-data"
  node_name = "pve1"
  vm_id     = 1191
  started   = false

  initialization {
    datastore_id        = "local-lvm"
    vendor_data_file_id = "local:snippets/vendor.yaml"
  }
}

resource "proxmox_virtual_environment_vm" "agent" {
  name      = "agent"
  node_name = "pve1"
  vm_id     = 1192
  started   = false

  agent {
    enabled = true
  }
}

resource "proxmox_virtual_environment_vm" "agent_trim" {
  name      = "agent-trim"
  node_name = "pve1"
  vm_id     = 1193
  started   = false

  agent {
    enabled = true
    trim    = true
  }
}

resource "proxmox_virtual_environment_vm" "agent_timeout" {
  name      = "agent-timeout"
  node_name = "pve1"
  vm_id     = 1194
  started   = false

  agent {
    enabled = true
    timeout = "5m"
  }
}

resource "proxmox_virtual_environment_vm" "pci" {
  name      = "pci"
  node_name = "pve1"
  vm_id     = 1195
  started   = false

  machine = "q35"
  hostpci {
    device  = "hostpci0"
    mapping = "gpu"
  }
}

resource "proxmox_virtual_environment_vm" "pci_pcie" {
  name      = "pci-pcie"
  node_name = "pve1"
  vm_id     = 1196
  started   = false

  machine = "q35"
  hostpci {
    device  = "hostpci0"
    mapping = "gpu"
    pcie    = true
  }
}

resource "proxmox_virtual_environment_vm" "pci_rombar" {
  name      = "pci-rombar"
  node_name = "pve1"
  vm_id     = 1197
  started   = false

  hostpci {
    device  = "hostpci0"
    mapping = "gpu"
    rombar  = false
  }
}

resource "proxmox_virtual_environment_vm" "pci_xvga" {
  name      = "pci-xvga"
  node_name = "pve1"
  vm_id     = 1198
  started   = false

  hostpci {
    device  = "hostpci0"
    mapping = "gpu"
    xvga    = true
  }
}

resource "proxmox_virtual_environment_vm" "usb" {
  name      = "usb"
  node_name = "pve1"
  vm_id     = 1199
  started   = false

  usb {
    mapping = "stick"
  }
}

resource "proxmox_virtual_environment_vm" "usb3" {
  name      = "usb3"
  node_name = "pve1"
  vm_id     = 1200
  started   = false

  usb {
    mapping = "stick"
    usb3    = true
  }
}

resource "proxmox_virtual_environment_vm" "usb_spice" {
  name      = "usb-spice"
  node_name = "pve1"
  vm_id     = 1201
  started   = false

  usb {
    host = "spice"
  }
}

resource "proxmox_virtual_environment_vm" "serial_bare" {
  name      = "serial-bare"
  node_name = "pve1"
  vm_id     = 1202
  started   = false

  serial_device {}
}

resource "proxmox_virtual_environment_vm" "vga_type" {
  name      = "vga-type"
  node_name = "pve1"
  vm_id     = 1203
  started   = false

  vga {
    type = "serial0"
  }
  serial_device {}
}

resource "proxmox_virtual_environment_vm" "vga_memory" {
  name      = "vga-memory"
  node_name = "pve1"
  vm_id     = 1204
  started   = false

  vga {
    type   = "std"
    memory = 32
  }
}

resource "proxmox_virtual_environment_vm" "rng" {
  name      = "rng"
  node_name = "pve1"
  vm_id     = 1205
  started   = false

  rng {
    source = "/dev/urandom"
  }
}

resource "proxmox_virtual_environment_vm" "audio" {
  name      = "audio"
  node_name = "pve1"
  vm_id     = 1206
  started   = false

  audio_device {
    device = "ich9-intel-hda"
  }
}

resource "proxmox_virtual_environment_vm" "watchdog" {
  name      = "watchdog"
  node_name = "pve1"
  vm_id     = 1207
  started   = false

  watchdog {
    enabled = true
    model   = "i6300esb"
  }
}

resource "proxmox_virtual_environment_vm" "virtiofs" {
  name      = "virtiofs"
  node_name = "pve1"
  vm_id     = 1208
  started   = false

  virtiofs {
    mapping = "share"
  }
}

resource "proxmox_virtual_environment_vm" "virtiofs_cache" {
  name      = "virtiofs-cache"
  node_name = "pve1"
  vm_id     = 1209
  started   = false

  virtiofs {
    mapping = "share"
    cache   = "always"
  }
}

resource "proxmox_virtual_environment_vm" "smbios_serial" {
  name      = "smbios-serial"
  node_name = "pve1"
  vm_id     = 1210
  started   = false

  smbios {
    serial = "S-1"
  }
}

resource "proxmox_virtual_environment_vm" "smbios_family" {
  name      = "smbios-family"
  node_name = "pve1"
  vm_id     = 1211
  started   = false

  smbios {
    family = "lab"
  }
}

resource "proxmox_virtual_environment_vm" "smbios_product" {
  name      = "smbios-product"
  node_name = "pve1"
  vm_id     = 1212
  started   = false

  smbios {
    product = "Lab"
  }
}

resource "proxmox_virtual_environment_vm" "purge" {
  name      = "purge"
  node_name = "pve1"
  vm_id     = 1213
  started   = false

  purge_on_destroy = false
}

resource "proxmox_virtual_environment_vm" "unreferenced" {
  name      = "unreferenced"
  node_name = "pve1"
  vm_id     = 1214
  started   = false

  delete_unreferenced_disks_on_destroy = false
}
