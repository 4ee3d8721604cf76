variable "größe" { default = 4 }
resource "proxmox_virtual_environment_vm" "büro" {
  name        = "buero"
  node_name   = "pve1"
  description = "Zürich – 東京 🚀 \u00e9 \"q\" $${not} %%{not} \\ "
  tags        = ["japan"]
  memory { dedicated = var.größe * 1024 }
  # Kommentar: „Anführung" 😀
  disk {
    interface = "scsi0"
    size      = var.größe
  }
}
