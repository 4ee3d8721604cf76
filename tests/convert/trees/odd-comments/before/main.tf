/* header
   over lines */ terraform {
  required_providers { proxmox = { source = "registry.terraform.io/bpg/proxmox", version = "0.66.1" } }
} // tail
provider "proxmox" { endpoint = var.url /* where */ }
variable "url" {} # needed
resource "proxmox_virtual_environment_vm" /* typed by hand */ "a" { # why here
  # first
  name /* the name */ = /* is */ "a" // trailing
  node_name = "pve1" # node
  /* block comment
       with indentation

     and a blank line */
  tags = [ # tags
    "one", # first tag
    # nothing
    "two" /* second */,
  ]
  memory { # mem
    # in MiB
    dedicated = 2048 # two gigs
    # end of memory
  }
  cpu { /* empty */ }
  # before disk
  disk { interface = "scsi0" } # one-liner: comment
  disk {
    // the data disk
    interface    = "virtio1"
    datastore_id = "nfs" // on the NAS
    size         = ( # computed
      8 + # base
      2   # more
    )
  }
  network_device { bridge = "vmbr0" } // lan
  # commented_out = true
  // resource "x" "y" { }
  boot_order /* from disk */ = [ "scsi0" ]
  migrate = true # we move them
  initialization {
    # ip first
    ip_config {
      ipv4 { address = "dhcp" } # dhcp
    }
    # then keys
    user_account {
      keys = [
        # of the admin
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 ops@lab", # laptop
      ]
      username = "ops"
    }
  }
  lifecycle { /* because */ ignore_changes = [ # all
    network_device, ] }
  # last words
}
# after everything
