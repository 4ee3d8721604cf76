/** What cloud-init is told reaches the guest by a drive; a clone may bring one, an empty VM does not. */
import { advice, setting } from '../../base/hint.ts';
import { userDataProblem } from '../../resources/seed/documents.ts';
import { ownDocuments } from '../../resources/seed/fields.ts';
import type { VmRule } from './rule.ts';

export const cloudInitNeedsDrive: VmRule = {
  reads: ['cloud_init.storage', 'clone.template', 'guest'],
  *check(vm) {
    const { cloud_init, nics, clone, guest } = vm.fields;
    // Documents of one's own need a storage in any case, and are told so by their own rule.
    if (clone || cloud_init?.storage !== undefined || ownDocuments(cloud_init).length > 0) return;
    const detail =
      'This is told to the guest by a cloud-init drive, and this VM has none: it is not cloned, and no storage for a drive is given.';
    const hint = advice`Write ${setting('cloud_init', { storage: '…' })}.`;
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
      hint: advice`Give one of them another slot: ${setting('cloud_init', { slot: 'ide0' })}.`,
    };
  },
};

export const ownDocumentsNeedStorage: VmRule = {
  reads: ['cloud_init.storage', 'cloud_init.user_data', 'cloud_init.network_data', 'cloud_init.meta_data'],
  *check(vm) {
    const { cloud_init } = vm.fields;
    const [first] = ownDocuments(cloud_init);
    if (first === undefined || cloud_init?.storage !== undefined) return;
    yield {
      vm,
      path: `cloud_init.${first}`,
      detail: 'Documents of one’s own reach the guest on an ISO image, and no storage for it is given.',
      hint: advice`Write ${setting('cloud_init', { storage: 'local' })}, with a storage that takes ISO images.`,
    };
  },
};

/** What is said beside documents of one's own and would never reach the guest, or reach a guest that passes over it. */
export const ownDocumentsFitTheGuest: VmRule = {
  reads: ['cloud_init', 'guest'],
  *check(vm) {
    const { cloud_init, guest } = vm.fields;
    if (!cloud_init || ownDocuments(cloud_init).length === 0) return;
    const { type, dns, user_data, network_data } = cloud_init;
    if (type !== undefined && type !== 'nocloud') {
      const detail = `Documents of one’s own come in the NoCloud format; "${type}" is a format of Proxmox’s own drive.`;
      yield { vm, path: 'cloud_init.type', detail, hint: 'Take cloud_init.type out.' };
    }
    const accounts = (['user', 'password', 'ssh_keys', 'upgrade'] as const).find(
      (name) => cloud_init[name] !== undefined,
    );
    if (guest === 'talos' && accounts !== undefined) {
      yield {
        vm,
        path: `cloud_init.${accounts}`,
        detail: 'Talos has no accounts and no packages: it would pass over this.',
        hint: advice`Say what it is to be in its machine configuration: ${setting('cloud_init', { user_data: { file: '…' } })}.`,
      };
    }
    if (network_data && dns) {
      const detail = 'Beside network_data this is passed over: name servers are part of that document.';
      yield { vm, path: 'cloud_init.dns', detail, severity: 'warning' };
    }
    const problem = user_data && 'text' in user_data ? userDataProblem(guest, user_data.text) : undefined;
    if (problem !== undefined) yield { vm, path: 'cloud_init.user_data', detail: problem };
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
