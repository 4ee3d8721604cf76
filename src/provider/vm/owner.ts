/**
 * Who a VM of Terraform belongs to. The host tells a provider neither the address of a resource nor the name of its
 * configuration, so the ownership line holds what a later run knows too: the token, and the name of the VM.
 */
import type { Address } from '../../base/address.ts';
import type { Pve } from '../../pve/index.ts';

/** Stands where a stack's name would. */
export function ownerName(pve: Pick<Pve, 'principal'>): string {
  return `terraform/${pve.principal}`;
}

export function ownerAddress(vmName: string): Address {
  return `vm.${vmName}` as Address; // never parsed: a name with dots is fine here
}
