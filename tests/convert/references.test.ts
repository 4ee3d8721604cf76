/** Attributes that other places read: what is a list for the former provider and a map by slot for ours stays a list. */
import { describe, expect, it } from 'vitest';
import { convertFiles } from '../../src/convert/index.ts';

const VM = 'resource "proxmox_virtual_environment_vm" "a" {\n  count     = 2\n  node_name = "pve1"\n}\n';
const A = 'proxmox_virtual_environment_vm.a';
const OURS = 'proxwright_vm.a';

function translated(value: string): string {
  const { changed } = convertFiles(new Map([['main.tf', `${VM}output "x" {\n  value = ${value}\n}\n`]]));
  return /output "x" \{\n {2}value = (.*)\n\}/.exec(changed.get('main.tf') ?? '')?.[1] ?? '';
}

describe('addresses of a VM', () => {
  it.each([
    [`flatten(${A}[0].ipv4_addresses)`, `flatten(values(${OURS}[0].addresses))`],
    [`flatten(${A}[*].mac_addresses)`, `flatten([for vm in ${OURS}[*] : values(vm.macs)])`],
    [
      `[for ip in flatten(${A}[*].ipv4_addresses) : ip if ip != "127.0.0.1"]`,
      `[for ip in flatten([for vm in ${OURS}[*] : values(vm.addresses)]) : ip if ip != "127.0.0.1"]`,
    ],
    [`{ for vm in ${A} : vm.name => vm.mac_addresses }`, `{ for vm in ${OURS} : vm.name => values(vm.macs) }`],
    [`${A}[0].ipv4_addresses[*][0]`, `values(${OURS}[0].addresses)[*][0]`],
    [`${A}[0].ipv4_addresses[1]`, `${OURS}[0].addresses["net0"]`],
    [`${A}[*].mac_addresses[0]`, `${OURS}[*].macs["net0"]`],
    [`one(${A}[*]).mac_addresses`, `values(one(${OURS}[*]).macs)`],
    [`try(${A}[0].ipv4_addresses[1][0], "")`, `try(${OURS}[0].primary_address, "")`],
  ])('%s', (from, to) => {
    expect(translated(from)).toBe(to);
  });
});
