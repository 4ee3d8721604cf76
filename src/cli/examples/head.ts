/** What every example begins with: schema, connection, and how to find one's way. */
import type { Example } from './example.ts';

const WORLDS: Readonly<Record<Example['world'], { readonly what: string; readonly node: string }>> = {
  default: { what: 'cluster: proxwright sim', node: 'pve1' },
  bare: { what: 'host: proxwright sim --world bare', node: 'vmhost' },
};

export function exampleHead(stack: string, purpose: string, world: Example['world'] = 'default'): string {
  const { what, node } = WORLDS[world];
  return `# yaml-language-server: $schema=./stack.schema.json
# ${purpose}
# Check it with "proxwright validate", preview it with "proxwright plan", apply it with "proxwright apply".
version: 1
stack: ${stack}

# How to reach Proxmox. Anything you leave out comes from the environment: PROXMOX_VE_ENDPOINT, PROXMOX_VE_FINGERPRINT
# (or PROXMOX_VE_CA_FILE) and PROXMOX_VE_API_TOKEN. To try this file on a simulated ${what}
#
# connection:
#   endpoint: https://${node}.example.org:8006
#   fingerprint: "3A:91:…"                      # or ca: ./pve-root-ca.pem
#   token: { env: PROXMOX_VE_API_TOKEN }        # or { file: … } or { command: [op, read, …] }; never the token itself
`;
}
