/** Raw keys that users cannot set: those with their own field, request parameters, and the VM's identity. */
import { isModelledKey } from '../../kinds/vm/fields/rows.ts';
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
/** They identify a VM. */
const IDENTITY = new Set(['smbios1', 'vmgenid']);

export const extraKeysAreFree: VmRule = {
  reads: ['extra'],
  *check(vm) {
    for (const key of Object.keys(vm.fields.extra ?? {})) {
      const path = `extra.${key}`;
      if (isModelledKey(key)) {
        yield { vm, path, detail: `"${key}" has its own field, so it cannot be set as a raw key.` };
      } else if (IDENTITY.has(key)) {
        yield { vm, path, detail: `"${key}" is part of the VM’s identity, which only Proxmox sets.` };
      } else if (NOT_CONFIGURATION.has(key) || /^unused\d+$/.test(key)) {
        yield { vm, path, detail: `"${key}" is not a setting of a VM’s configuration.` };
      }
    }
  },
};
