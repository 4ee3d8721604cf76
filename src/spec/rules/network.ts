/** Network cards that would surprise their owner. */
import { advice, setting } from '../../base/hint.ts';
import type { VmRule } from './rule.ts';

/** A card without a bridge is put behind QEMU's own address translation, which nobody expects. */
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
        detail: `"${slot}" has no bridge; Proxmox then hides it behind address translation, and nothing can reach the VM.`,
        hint: advice`Write ${setting('bridge', 'vmbr0')}.`,
      };
    }
  },
};

/** Proxmox refuses the start: smaller than the minimum of IP. */
export const mtuCarriesIp: VmRule = {
  reads: ['nics.*.mtu'],
  *check(vm) {
    for (const [slot, { mtu }] of Object.entries(vm.fields.nics ?? {})) {
      if (mtu === undefined || mtu === 1 || mtu >= 576) continue;
      yield {
        vm,
        path: `nics.${slot}.mtu`,
        detail: `An MTU of ${mtu} is too small for IP; the least is 576, and 1 takes the bridge’s.`,
      };
    }
  },
};
