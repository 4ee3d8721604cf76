/** …/firewall: an untouched firewall. It can be read, not changed. */
import { createHash } from 'node:crypto';
import type { Routes } from '../../../core/call.ts';

/** Rule [recorded ha-and-mappings-empty]: the digest of a file that does not exist is that of an empty one. */
const EMPTY_FILE_DIGEST = createHash('sha1').update('').digest('hex');

export const firewallRoutes: Routes = {
  // Rule [recorded unknown-vm]: answered even for a VM that does not exist.
  'GET /nodes/{node}/qemu/{vmid}/firewall/options': () => ({ digest: EMPTY_FILE_DIGEST }),
  'GET /nodes/{node}/qemu/{vmid}/firewall/rules': () => [],
  'GET /cluster/firewall/options': () => ({ digest: EMPTY_FILE_DIGEST }),
};
