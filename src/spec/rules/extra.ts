/** Raw keys that are not the user's to set: those with a field of their own, and those that steer a request or name a VM. */
import { isModelledKey } from '../../resources/vm/fields/rows.ts';
import type { VmRule } from './rule.ts';

const NOT_CONFIGURATION = new Set([
  'vmid',
  'node',
  'digest',
  'delete',
  'revert',
  'force',
  'skiplock',
  'background_delay',
  'lock',
  'template',
  'archive',
  'storage',
  'start',
  'unique',
  'live-restore',
  'import-working-storage',
  'bwlimit',
  'pool',
  'meta',
  'parent',
  'snaptime',
  'vmstate',
  'pending',
]);
/** They are how a VM is recognised. */
const IDENTITY = new Set(['smbios1', 'vmgenid']);

export const extraKeysAreFree: VmRule = {
  reads: ['extra'],
  *check(vm) {
    for (const key of Object.keys(vm.fields.extra ?? {})) {
      const path = `extra.${key}`;
      if (isModelledKey(key)) {
        yield { vm, path, detail: `"${key}" has a field of its own, so it cannot be set as a raw key as well.` };
      } else if (IDENTITY.has(key)) {
        yield { vm, path, detail: `"${key}" is part of the VM’s identity and is left to Proxmox.` };
      } else if (NOT_CONFIGURATION.has(key) || /^unused\d+$/.test(key)) {
        yield { vm, path, detail: `"${key}" is not a setting of a VM’s configuration.` };
      }
    }
  },
};
