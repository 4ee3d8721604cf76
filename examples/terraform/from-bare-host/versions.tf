terraform {
  required_version = ">= 1.5"

  required_providers {
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
    }
  }
}
