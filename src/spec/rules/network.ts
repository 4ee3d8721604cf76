/** Rules for network cards that would not work as expected. */
import { advice, setting } from '../../base/hint.ts';
import type { VmRule } from './rule.ts';

/** A card without a bridge uses QEMU's own NAT, which is rarely intended. */
export const newCardsHaveBridge: VmRule = {
  reads: ['nics.*.bridge', 'nics.*.remove', 'clone.template'],
  *check(vm) {
    if (vm.fields.clone) return;
    for (const [slot, { bridge, remove }] of Object.entries(vm.fields.nics ?? {})) {
      if (bridge !== undefined || remove) continue;
      yield {
        vm,
        path: `nics.${slot}`,
        severity: 'warning',
        detail: `"${slot}" has no bridge. Proxmox then uses NAT, and nothing can reach the VM.`,
        hint: advice`Write ${setting('bridge', 'vmbr0')}.`,
      };
    }
  },
};

/** Proxmox refuses to start such a VM: the MTU is below the minimum of IP. */
export const mtuCarriesIp: VmRule = {
  reads: ['nics.*.mtu'],
  *check(vm) {
    for (const [slot, { mtu }] of Object.entries(vm.fields.nics ?? {})) {
      if (mtu === undefined || mtu === 1 || mtu >= 576) continue;
      yield {
        vm,
        path: `nics.${slot}.mtu`,
        detail: `An MTU of ${mtu} is too small for IP. The minimum is 576, and 1 uses the bridge’s MTU.`,
      };
    }
  },
};
