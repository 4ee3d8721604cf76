/** What every example begins with: schema, connection, and how to find one's way. */
export function exampleHead(stack: string, purpose: string): string {
  return `# yaml-language-server: $schema=./stack.schema.json
# ${purpose}
# Check it with "proxwright validate", see what would happen with "proxwright plan", do it with "proxwright apply".
version: 1
stack: ${stack}

# Where Proxmox is. What is not said here comes from the environment: PROXMOX_VE_ENDPOINT, PROXMOX_VE_FINGERPRINT
# (or PROXMOX_VE_CA_FILE) and PROXMOX_VE_API_TOKEN. To try this file on a simulated cluster: proxwright sim
#
# connection:
#   endpoint: https://pve1.example.org:8006
#   fingerprint: "3A:91:…"                      # or ca: ./pve-root-ca.pem
#   token: { env: PROXMOX_VE_API_TOKEN }        # or { file: … } or { command: [op, read, …] }; never the token itself
`;
}
