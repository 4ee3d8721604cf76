/** What cloud-init is told reaches the guest by a drive; a clone may bring one, an empty VM does not. */
import type { VmRule } from './rule.ts';

export const cloudInitNeedsDrive: VmRule = {
  reads: ['cloud_init.storage', 'clone.template', 'guest'],
  *check(vm) {
    const { cloud_init, nics, clone, guest } = vm.fields;
    if (clone || cloud_init?.storage !== undefined) return;
    const detail =
      'This is told to the guest by a cloud-init drive, and this VM has none: it is not cloned, and no storage for a drive is given.';
    const hint = 'Write cloud_init: { storage: … }.';
    const [told] = Object.entries(cloud_init ?? {}).filter(([, value]) => value !== undefined);
    if (told) yield { vm, path: `cloud_init.${told[0]}`, detail, hint };
    // Talos takes such an address as the expected one.
    if (guest === 'talos') return;
    for (const [slot, { ipv4, ipv6 }] of Object.entries(nics ?? {})) {
      if (ipv4 !== undefined) yield { vm, path: `nics.${slot}.ipv4`, detail, hint };
      if (ipv6 !== undefined) yield { vm, path: `nics.${slot}.ipv6`, detail, hint };
    }
  },
};

export const cloudInitSlotIsFree: VmRule = {
  reads: ['cloud_init.storage', 'cloud_init.slot', 'disks.*.remove'],
  *check(vm) {
    const { cloud_init, disks } = vm.fields;
    if (!cloud_init || (cloud_init.storage === undefined && cloud_init.slot === undefined)) return;
    const slot = cloud_init.slot ?? 'ide2';
    const disk = disks?.[slot];
    if (!disk || disk.remove) return;
    yield {
      vm,
      path: cloud_init.slot === undefined ? `disks.${slot}` : 'cloud_init.slot',
      detail: `The cloud-init drive and a disk of this VM both want the slot "${slot}".`,
      hint: 'Give one of them another slot: cloud_init: { slot: ide0 }.',
    };
  },
};

/** Proxmox checks keys by ssh-keygen and says only that one of them is wrong. */
export const sshKeysArePublic: VmRule = {
  reads: ['cloud_init.ssh_keys'],
  *check(vm) {
    for (const [index, key] of (vm.fields.cloud_init?.ssh_keys ?? []).entries()) {
      if (/^((ssh|ecdsa|sk)-[a-z0-9@.-]+) [A-Za-z0-9+/]{16,}={0,3}( [^\n]*)?$/.test(key.trim())) continue;
      const isPrivate = /PRIVATE KEY/.test(key);
      // The text is not repeated: it may be a private key.
      yield {
        vm,
        path: `cloud_init.ssh_keys.${index}`,
        detail: isPrivate
          ? 'This is a private key; only its public half belongs here.'
          : `Key ${index + 1} is not a public SSH key.`,
        hint: 'Write one line as in a .pub file: ssh-ed25519 AAAA… comment.',
      };
    }
  },
};
