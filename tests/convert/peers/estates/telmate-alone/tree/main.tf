# Every attribute that people set, each on a VM of its own.
terraform {
  required_providers {
    proxmox = { source = "Telmate/proxmox" }
  }
}

variable "endpoint" {}
variable "token_id" {}
variable "token_secret" { sensitive = true }

provider "proxmox" {
  pm_api_url          = "${var.endpoint}/api2/json"
  pm_api_token_id     = var.token_id
  pm_api_token_secret = var.token_secret
  pm_tls_insecure     = true
}

resource "proxmox_vm_qemu" "description" {
  name            = "description"
  target_node     = "pve1"
  vmid            = 1300
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  description = "Made for one attribute."
}

resource "proxmox_vm_qemu" "tags" {
  name            = "tags"
  target_node     = "pve1"
  vmid            = 1301
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  tags = "b;a"
}

resource "proxmox_vm_qemu" "start_at_node_boot" {
  name            = "start-at-node-boot"
  target_node     = "pve1"
  vmid            = 1302
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  start_at_node_boot = true
}

resource "proxmox_vm_qemu" "tablet" {
  name            = "tablet"
  target_node     = "pve1"
  vmid            = 1303
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  tablet = false
}

resource "proxmox_vm_qemu" "kvm" {
  name            = "kvm"
  target_node     = "pve1"
  vmid            = 1304
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  kvm = true
}

resource "proxmox_vm_qemu" "pool" {
  name            = "pool"
  target_node     = "pve1"
  vmid            = 1305
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  pool = "lab"
}

resource "proxmox_vm_qemu" "machine" {
  name            = "machine"
  target_node     = "pve1"
  vmid            = 1306
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  machine = "q35"
}

resource "proxmox_vm_qemu" "bios" {
  name            = "bios"
  target_node     = "pve1"
  vmid            = 1307
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  bios = "ovmf"
  efidisk {
    storage = "local-lvm"
    efitype = "4m"
  }
}

resource "proxmox_vm_qemu" "memory" {
  name            = "memory"
  target_node     = "pve1"
  vmid            = 1308
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  memory = 1536
}

resource "proxmox_vm_qemu" "balloon" {
  name            = "balloon"
  target_node     = "pve1"
  vmid            = 1309
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  memory  = 2048
  balloon = 1024
}

resource "proxmox_vm_qemu" "cores" {
  name            = "cores"
  target_node     = "pve1"
  vmid            = 1310
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    cores = 3
  }
}

resource "proxmox_vm_qemu" "sockets" {
  name            = "sockets"
  target_node     = "pve1"
  vmid            = 1311
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    sockets = 2
  }
}

resource "proxmox_vm_qemu" "cpu_type" {
  name            = "cpu-type"
  target_node     = "pve1"
  vmid            = 1312
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    type = "host"
  }
}

resource "proxmox_vm_qemu" "cpu_limit" {
  name            = "cpu-limit"
  target_node     = "pve1"
  vmid            = 1313
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    limit = 2
  }
}

resource "proxmox_vm_qemu" "cpu_units" {
  name            = "cpu-units"
  target_node     = "pve1"
  vmid            = 1314
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    units = 500
  }
}

resource "proxmox_vm_qemu" "cpu_numa" {
  name            = "cpu-numa"
  target_node     = "pve1"
  vmid            = 1315
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  cpu {
    numa = true
  }
}

resource "proxmox_vm_qemu" "hotplug" {
  name            = "hotplug"
  target_node     = "pve1"
  vmid            = 1316
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  hotplug = "network,disk"
}

resource "proxmox_vm_qemu" "scsihw" {
  name            = "scsihw"
  target_node     = "pve1"
  vmid            = 1317
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  scsihw = "virtio-scsi-single"
}

resource "proxmox_vm_qemu" "qemu_os" {
  name            = "qemu-os"
  target_node     = "pve1"
  vmid            = 1318
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  qemu_os = "win11"
}

resource "proxmox_vm_qemu" "disk" {
  name            = "disk"
  target_node     = "pve1"
  vmid            = 1319
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
  }
}

resource "proxmox_vm_qemu" "disk_cache" {
  name            = "disk-cache"
  target_node     = "pve1"
  vmid            = 1320
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
    cache   = "writeback"
  }
}

resource "proxmox_vm_qemu" "disk_no_backup" {
  name            = "disk-no-backup"
  target_node     = "pve1"
  vmid            = 1321
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
    backup  = false
  }
}

resource "proxmox_vm_qemu" "disk_discard" {
  name            = "disk-discard"
  target_node     = "pve1"
  vmid            = 1322
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
    discard = true
  }
}

resource "proxmox_vm_qemu" "disk_iothread" {
  name            = "disk-iothread"
  target_node     = "pve1"
  vmid            = 1323
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  scsihw = "virtio-scsi-single"
  disk {
    slot     = "scsi0"
    storage  = "local-lvm"
    size     = "4G"
    iothread = true
  }
}

resource "proxmox_vm_qemu" "disk_ssd" {
  name            = "disk-ssd"
  target_node     = "pve1"
  vmid            = 1324
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot       = "scsi0"
    storage    = "local-lvm"
    size       = "4G"
    emulatessd = true
  }
}

resource "proxmox_vm_qemu" "disk_replicate" {
  name            = "disk-replicate"
  target_node     = "pve1"
  vmid            = 1325
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot      = "scsi0"
    storage   = "local-lvm"
    size      = "4G"
    replicate = true
  }
}

resource "proxmox_vm_qemu" "disk_serial" {
  name            = "disk-serial"
  target_node     = "pve1"
  vmid            = 1326
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
    serial  = "ABC-1"
  }
}

resource "proxmox_vm_qemu" "disk_asyncio" {
  name            = "disk-asyncio"
  target_node     = "pve1"
  vmid            = 1327
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
    asyncio = "threads"
  }
}

resource "proxmox_vm_qemu" "disk_readonly" {
  name            = "disk-readonly"
  target_node     = "pve1"
  vmid            = 1328
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot     = "scsi0"
    storage  = "local-lvm"
    size     = "4G"
    readonly = true
  }
}

resource "proxmox_vm_qemu" "disk_mbps" {
  name            = "disk-mbps"
  target_node     = "pve1"
  vmid            = 1329
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot              = "scsi0"
    storage           = "local-lvm"
    size              = "4G"
    mbps_r_concurrent = 50
  }
}

resource "proxmox_vm_qemu" "disk_iops" {
  name            = "disk-iops"
  target_node     = "pve1"
  vmid            = 1330
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot               = "scsi0"
    storage            = "local-lvm"
    size               = "4G"
    iops_wr_concurrent = 500
  }
}

resource "proxmox_vm_qemu" "disk_format" {
  name            = "disk-format"
  target_node     = "pve1"
  vmid            = 1331
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "scsi0"
    storage = "nfs"
    size    = "4G"
    format  = "qcow2"
  }
}

resource "proxmox_vm_qemu" "disk_virtio" {
  name            = "disk-virtio"
  target_node     = "pve1"
  vmid            = 1332
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "virtio0"
    storage = "local-lvm"
    size    = "4G"
  }
}

resource "proxmox_vm_qemu" "cdrom" {
  name            = "cdrom"
  target_node     = "pve1"
  vmid            = 1333
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot = "ide2"
    type = "cdrom"
    iso  = "local:iso/debian-13.1.0-amd64-netinst.iso"
  }
}

resource "proxmox_vm_qemu" "boot" {
  name            = "boot"
  target_node     = "pve1"
  vmid            = 1334
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  boot = "order=scsi0;net0"
  disk {
    slot    = "scsi0"
    storage = "local-lvm"
    size    = "4G"
  }
  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }
}

resource "proxmox_vm_qemu" "nic" {
  name            = "nic"
  target_node     = "pve1"
  vmid            = 1335
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }
}

resource "proxmox_vm_qemu" "nic_model" {
  name            = "nic-model"
  target_node     = "pve1"
  vmid            = 1336
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  network {
    id     = 0
    model  = "e1000"
    bridge = "vmbr0"
  }
}

resource "proxmox_vm_qemu" "nic_vlan" {
  name            = "nic-vlan"
  target_node     = "pve1"
  vmid            = 1337
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
    tag    = 20
  }
}

resource "proxmox_vm_qemu" "nic_firewall" {
  name            = "nic-firewall"
  target_node     = "pve1"
  vmid            = 1338
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  network {
    id       = 0
    model    = "virtio"
    bridge   = "vmbr0"
    firewall = true
  }
}

resource "proxmox_vm_qemu" "nic_mtu" {
  name            = "nic-mtu"
  target_node     = "pve1"
  vmid            = 1339
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
    mtu    = 1400
  }
}

resource "proxmox_vm_qemu" "nic_rate" {
  name            = "nic-rate"
  target_node     = "pve1"
  vmid            = 1340
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
    rate   = 10
  }
}

resource "proxmox_vm_qemu" "nic_queues" {
  name            = "nic-queues"
  target_node     = "pve1"
  vmid            = 1341
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
    queues = 2
  }
}

resource "proxmox_vm_qemu" "nic_down" {
  name            = "nic-down"
  target_node     = "pve1"
  vmid            = 1342
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  network {
    id        = 0
    model     = "virtio"
    bridge    = "vmbr0"
    link_down = true
  }
}

resource "proxmox_vm_qemu" "nic_mac" {
  name            = "nic-mac"
  target_node     = "pve1"
  vmid            = 1343
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  network {
    id      = 0
    model   = "virtio"
    bridge  = "vmbr0"
    macaddr = "BC:24:11:BB:00:01"
  }
}

resource "proxmox_vm_qemu" "ciuser" {
  name            = "ciuser"
  target_node     = "pve1"
  vmid            = 1344
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
  os_type = "cloud-init"
  ciuser  = "ops"
}

resource "proxmox_vm_qemu" "sshkeys" {
  name            = "sshkeys"
  target_node     = "pve1"
  vmid            = 1345
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
  os_type = "cloud-init"
  sshkeys = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 ops@lab"
}

resource "proxmox_vm_qemu" "nameserver" {
  name            = "nameserver"
  target_node     = "pve1"
  vmid            = 1346
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
  os_type    = "cloud-init"
  nameserver = "10.0.0.53"
}

resource "proxmox_vm_qemu" "searchdomain" {
  name            = "searchdomain"
  target_node     = "pve1"
  vmid            = 1347
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
  os_type      = "cloud-init"
  searchdomain = "lab.example"
}

resource "proxmox_vm_qemu" "ciupgrade" {
  name            = "ciupgrade"
  target_node     = "pve1"
  vmid            = 1348
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
  os_type   = "cloud-init"
  ciupgrade = true
}

resource "proxmox_vm_qemu" "ipconfig" {
  name            = "ipconfig"
  target_node     = "pve1"
  vmid            = 1349
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
  os_type   = "cloud-init"
  ipconfig0 = "ip=10.0.20.9/24,gw=10.0.20.1"
  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }
}

resource "proxmox_vm_qemu" "dhcp" {
  name            = "dhcp"
  target_node     = "pve1"
  vmid            = 1350
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  disk {
    slot    = "ide2"
    type    = "cloudinit"
    storage = "local-lvm"
  }
  os_type   = "cloud-init"
  ipconfig0 = "ip=dhcp"
  network {
    id     = 0
    model  = "virtio"
    bridge = "vmbr0"
  }
}

resource "proxmox_vm_qemu" "agent" {
  name            = "agent"
  target_node     = "pve1"
  vmid            = 1351
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  agent = 1
}

resource "proxmox_vm_qemu" "serial" {
  name            = "serial"
  target_node     = "pve1"
  vmid            = 1352
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  serial {
    id   = 0
    type = "socket"
  }
}

resource "proxmox_vm_qemu" "vga" {
  name            = "vga"
  target_node     = "pve1"
  vmid            = 1353
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  vga {
    type   = "std"
    memory = 32
  }
}

resource "proxmox_vm_qemu" "rng" {
  name            = "rng"
  target_node     = "pve1"
  vmid            = 1354
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  rng {
    source = "/dev/urandom"
    limit  = 1024
    period = 1000
  }
}

resource "proxmox_vm_qemu" "tpm" {
  name            = "tpm"
  target_node     = "pve1"
  vmid            = 1355
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  machine = "q35"
  tpm_state {
    storage = "local-lvm"
    version = "v2.0"
  }
}

resource "proxmox_vm_qemu" "startup" {
  name            = "startup"
  target_node     = "pve1"
  vmid            = 1356
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  startup_shutdown {
    order            = 3
    startup_delay    = 30
    shutdown_timeout = 60
  }
}

resource "proxmox_vm_qemu" "pci" {
  name            = "pci"
  target_node     = "pve1"
  vmid            = 1357
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  machine = "q35"
  pci {
    id         = 0
    mapping_id = "gpu"
    pcie       = true
  }
}

resource "proxmox_vm_qemu" "smbios" {
  name            = "smbios"
  target_node     = "pve1"
  vmid            = 1358
  vm_state        = "stopped"
  clone_wait      = 0
  additional_wait = 0

  smbios {
    serial = "S-1"
  }
}
