# Büro: Dateien von Windows, mit Umlauten, Heredocs und `templatefile`.
terraform {
  required_providers {
    proxmox = {
      source = "bpg/proxmox"
    }
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

locals {
  gemeinsam = { kerne = 2, speicher = 1024, "ort" = "Köln" }
  rechner = {
    akten = merge(local.gemeinsam, { id = 2031 })
    druck = merge(local.gemeinsam, { id = 2032, kerne = 1, ort = "Zürich – Süd" }) // der Drucker
  }
}

resource "proxmox_virtual_environment_vm" "buero" {
  for_each  = local.rechner
  name      = "buero-${each.key}"
  node_name = "pve1"
  vm_id     = each.value.id
  started   = false
  tags      = sort(distinct(["büro" == "büro" ? "buero" : "x", lookup(each.value, "rolle", "allgemein")]))

  /* Text für die
     Kollegen */
  description = <<-EOT
    Rechner *${each.key}* in ${each.value.ort}
    Preis: 100 € — $${nicht_ersetzt}
  EOT

  cpu {
    cores = each.value.kerne # Kerne
    type  = "x86-64-v2-AES"
  }
  memory {
    dedicated = try(each.value.speicher, 512)
  }
}

resource "proxmox_virtual_environment_vm" "vorlage" {
  name        = "buero-vorlage"
  node_name   = "pve1"
  vm_id       = 2035
  started     = false
  description = templatefile("${path.module}/notiz.tftpl", { name = "Ärger", liste = ["ä", "ö"] })

  memory { dedicated = 512 }
}
