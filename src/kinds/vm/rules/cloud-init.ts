/** The guest gets cloud-init settings from a drive. A clone may inherit one; an empty VM has none. */
import { Buffer } from 'node:buffer';
import { advice, setting } from '../../../base/hint.ts';
import { ownDocuments } from '../seed/fields.ts';
import { userDataProblem } from '../seed/user-data.ts';
import type { VmRule } from './rule.ts';

export const cloudInitNeedsDrive: VmRule = {
  reads: ['cloud_init.storage', 'clone.template', 'guest'],
  *check(vm) {
    const { cloud_init, nics, clone, guest } = vm.fields;
    // Custom data always needs a storage, and another rule checks that.
    if (clone || cloud_init?.storage !== undefined || ownDocuments(cloud_init).length > 0) return;
    const detail =
      'The guest gets this from a cloud-init drive, and this VM has none: it is not cloned, and cloud_init.storage is not set.';
    const hint = advice`Write ${setting('cloud_init', { storage: '…' })}.`;
    const [told] = Object.entries(cloud_init ?? {}).filter(([, value]) => value !== undefined);
    if (told) yield { vm, path: `cloud_init.${told[0]}`, detail, hint };
    // For Talos, such an address is the expected one.
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
      detail: `The cloud-init drive and a disk of this VM both use the slot "${slot}".`,
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
      detail: 'Custom cloud-init data needs a storage for its ISO image, and cloud_init.storage is not set.',
      hint: advice`Write ${setting('cloud_init', { storage: 'local' })}, with a storage for ISO images.`,
    };
  },
};

/** Settings that custom cloud-init data overrides, or that the guest would ignore. */
export const ownDocumentsFitTheGuest: VmRule = {
  reads: ['cloud_init', 'guest'],
  *check(vm) {
    const { cloud_init, guest } = vm.fields;
    if (!cloud_init || ownDocuments(cloud_init).length === 0) return;
    const { type, dns, user_data, network_data } = cloud_init;
    if (type !== undefined && type !== 'nocloud') {
      const detail = `Custom cloud-init data uses the NoCloud format; only Proxmox’s own drive supports "${type}".`;
      yield { vm, path: 'cloud_init.type', detail, hint: 'Remove cloud_init.type.' };
    }
    const accounts = (['user', 'password', 'ssh_keys', 'upgrade'] as const).find(
      (name) => cloud_init[name] !== undefined,
    );
    if (guest === 'talos' && accounts !== undefined) {
      yield {
        vm,
        path: `cloud_init.${accounts}`,
        detail: 'Talos has no accounts and no packages, so it would ignore this.',
        hint: advice`Use a machine configuration instead: ${setting('cloud_init', { user_data: { file: '…' } })}.`,
      };
    }
    if (network_data && dns) {
      const detail = 'This is ignored, because network_data is set. Set the name servers in network_data.';
      yield { vm, path: 'cloud_init.dns', detail, severity: 'warning' };
    }
    const problem = user_data && 'text' in user_data ? userDataProblem(guest, user_data.text) : undefined;
    if (problem !== undefined) yield { vm, path: 'cloud_init.user_data', detail: problem };
  },
};

/** Proxmox reads each key with ssh-keygen, after the clone exists, and does not say which one is wrong. */
export const sshKeysArePublic: VmRule = {
  reads: ['cloud_init.ssh_keys'],
  *check(vm) {
    for (const [index, key] of (vm.fields.cloud_init?.ssh_keys ?? []).entries()) {
      const [, type, data] =
        /^((?:ssh|ecdsa|sk)-[a-z0-9@.-]+) ([A-Za-z0-9+/]{16,}={0,3})(?: [^\n]*)?$/.exec(key.trim()) ?? [];
      if (type !== undefined && data !== undefined && isWholeKey(type, Buffer.from(data, 'base64'))) continue;
      const isPrivate = /PRIVATE KEY/.test(key);
      // The text is not repeated: it may be a private key.
      yield {
        vm,
        path: `cloud_init.ssh_keys.${index}`,
        detail: isPrivate
          ? 'This is a private key; only its public half belongs here.'
          : type === undefined
            ? `Key ${index + 1} is not a public SSH key.`
            : `Key ${index + 1} is damaged: the text after "${type}" is not a whole key. Part of it is probably missing.`,
        hint: 'Write one line as in a .pub file: ssh-ed25519 AAAA… comment.',
      };
    }
  },
};

const ED25519_BYTES = 32;

/** RFC 4253, 6.6: a key is a sequence of fields, each with its length in front; the first one names the type. */
function isWholeKey(type: string, blob: Buffer): boolean {
  const fields: Buffer[] = [];
  for (let offset = 0; offset < blob.length; ) {
    if (offset + 4 > blob.length) return false;
    const end = offset + 4 + blob.readUInt32BE(offset);
    if (end > blob.length) return false;
    fields.push(blob.subarray(offset + 4, end));
    offset = end;
  }
  const [name, first] = fields;
  return (
    name?.toString('latin1') === type &&
    first !== undefined &&
    (type !== 'ssh-ed25519' || first.length === ED25519_BYTES)
  );
}
