/* header
   over lines */ terraform {
  required_providers {
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
    }
  }
} // tail
provider "proxwright" {
  endpoint = var.url /* where */
}
variable "url" {} # needed
resource "proxwright_vm" "a" {
  # why here
  # first
  name = "a" // trailing
  node = "pve1" # node
  /* block comment
  with indentation

  and a blank line */
  tags = [ # tags
    "one", # first tag
    # nothing
    "two" /* second */,
  ]
  # mem
  # in MiB
  memory = "2GiB" # two gigs
  disks = {
    # before disk
    scsi0 = { storage = "local-lvm", size = "8GiB" } # one-liner: comment
    // the data disk
    virtio1 = {
      storage = "nfs" // on the NAS
      size = "${( # computed
      8 + # base
      2   # more
    )}GiB"
    }
  }
  nics = {
    // lan
    net0 = {
      bridge = "vmbr0"
      ipv4   = { address = "dhcp" } # dhcp
    }
  }
  # commented_out = true
  // resource "x" "y" { }
  boot  = [ "scsi0" ]
  guest = "cloud-init"
  # then keys
  cloud_init = {
    ssh_keys = [
        # of the admin
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEyN6VTEzqSPNDWLHcWNyMGdSNnSLyAHtXDLPj5hN4u5 ops@lab", # laptop
      ]
    user = "ops"
  }
  # end of memory
  /* empty */
  # last words
  /* typed by hand */
  /* the name */
  /* from disk */
  # we move them
  # ip first
  /* because */
  # all
}
# after everything
