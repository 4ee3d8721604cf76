stages = {
  test = { first = 2051 } # small
  prod = {
    first = 2060
    node  = "pve2"
    web   = 2
    disks = {
      scsi1 = { size = 2, ssd = true }
      scsi2 = { size = 3 }
    }
  }
}
