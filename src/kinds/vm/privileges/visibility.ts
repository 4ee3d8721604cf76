/** What a token needs to see what a VM refers to: its template, its bridges and its storages. */
import type { Where } from '../../../base/diagnostics.ts';
import { LOCAL_ZONE, storageVisibility, type Visibility } from '../../privileges/need.ts';
import { machinesOf, type ResolvedStack } from '../../stack.ts';
import type { ResolvedVm } from '../stack.ts';

export function visibilityOfReference({ address, field }: Where, stack: ResolvedStack): Visibility | undefined {
  const parts = field?.split('.') ?? [];
  const vm = machinesOf(stack).find((each) => each.address === address);
  if (!vm) return undefined;
  return templateVisibility(vm, parts) ?? bridgeVisibility(vm, parts) ?? diskVisibility(vm, parts);
}

function templateVisibility({ fields }: ResolvedVm, parts: readonly string[]): Visibility | undefined {
  if (parts.join('.') !== 'clone.template' || !fields.clone) return undefined;
  const { template } = fields.clone;
  const isId = /^\d+$/.test(String(template));
  return {
    what: isId ? `VM ${template}` : `a template "${template}"`,
    privileges: ['VM.Audit'],
    path: isId ? { path: `/vms/${template}` } : { path: '/vms', below: true },
  };
}

function bridgeVisibility({ fields }: ResolvedVm, [owner, slot = '', name]: readonly string[]): Visibility | undefined {
  const nic = owner === 'nics' && name === 'bridge' ? fields.nics?.[slot] : undefined;
  if (nic?.bridge === undefined) return undefined;
  const path = `${LOCAL_ZONE}/${nic.bridge}`;
  return {
    what: `the bridge "${nic.bridge}"`,
    privileges: ['SDN.Use', 'SDN.Audit'],
    path: { path: nic.vlan ? `${path}/${nic.vlan}` : path },
  };
}

function diskVisibility({ fields }: ResolvedVm, parts: readonly string[]): Visibility | undefined {
  const [owner, slot = '', name] = parts;
  const disk = owner === 'disks' ? fields.disks?.[slot] : undefined;
  const storage =
    disk === undefined
      ? {
          clone: fields.clone?.storage,
          efi: fields.efi?.storage,
          tpm: fields.tpm?.storage,
          cloud_init: fields.cloud_init?.storage,
        }[owner ?? '']
      : name === 'iso'
        ? String(disk.iso).split(':')[0]
        : disk.storage;
  return storage === undefined ? undefined : storageVisibility(storage, ['Datastore.AllocateSpace', 'Datastore.Audit']);
}
