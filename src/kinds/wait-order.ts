/** The order in which Proxwright waits for resources to become ready. Pure. */
import type { Address } from '../base/address.ts';

/**
 * The order of the file, except that a VM follows the VMs named in its `after`: it cannot start before they are ready, and
 * waiting for it first would never end.
 */
export function waitOrder(
  vms: readonly { readonly address: Address; readonly after: readonly Address[] }[],
): Address[] {
  const byAddress = new Map(vms.map((vm) => [vm.address, vm]));
  const order = new Set<Address>();
  const underWay = new Set<Address>();
  const visit = (address: Address) => {
    const vm = byAddress.get(address);
    if (!vm || order.has(address) || underWay.has(address)) return;
    underWay.add(address);
    vm.after.forEach(visit);
    order.add(address);
  };
  for (const { address } of vms) visit(address);
  return [...order];
}
