/** A configuration that uses bpg and Telmate side by side. */
import { expect, it } from 'vitest';
import { convertFiles } from '../../src/convert/index.ts';

const BOTH = `terraform {
  required_providers {
    proxmox = { source = "telmate/proxmox" }
    bpg     = { source = "bpg/proxmox" }
  }
}

provider "proxmox" {
  pm_api_url = "https://pve1:8006/api2/json"
}

provider "bpg" {
  endpoint = "https://pve2:8006"
}

resource "proxmox_vm_qemu" "old" {
  name        = "old"
  target_node = "pve1"
}

resource "proxmox_virtual_environment_vm" "new" {
  provider  = bpg
  name      = "new"
  node_name = "pve2"
}
`;

it('has one provider of ours with an alias for the second', () => {
  const { changed } = convertFiles(new Map([['main.tf', BOTH]]));
  expect(changed.get('main.tf')).toBe(`terraform {
  required_providers {
    proxwright = {
      source = "proxwright.dev/proxwright/proxwright"
    }
  }
}

provider "proxwright" {
  endpoint = "https://pve1:8006"
}

provider "proxwright" {
  alias = "bpg"

  endpoint = "https://pve2:8006"
}

resource "proxwright_vm" "old" {
  name = "old"
  node = "pve1"
}

resource "proxwright_vm" "new" {
  provider = proxwright.bpg
  name     = "new"
  node     = "pve2"
}
`);
});
