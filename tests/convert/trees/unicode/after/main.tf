variable "größe" { default = 4 }
resource "proxwright_vm" "büro" {
  name        = "buero"
  node        = "pve1"
  description = "Zürich – 東京 🚀 \u00e9 \"q\" $${not} %%{not} \\ "
  tags        = ["japan"]
  memory      = "${var.größe * 1024}MiB"
  disks = {
    # Kommentar: „Anführung" 😀
    scsi0 = { size = "${var.größe}GiB", storage = "local-lvm" }
  }
}
