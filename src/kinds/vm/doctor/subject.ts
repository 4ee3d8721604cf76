/** What the checks of VMs ask about one of them. */
import { storageOfVolume } from '../../../pve/wire/index.ts';
import type { Observed } from '../../observed.ts';
import type { TemplateCandidate } from '../../template/observed.ts';
import { drivesOf } from '../config/disks.ts';
import { chooseTemplate, type TemplateChoice } from '../plan/choices/choose-template.ts';
import type { ResolvedVm } from '../stack.ts';

export function volumeKey({ node, vmid }: Pick<TemplateCandidate, 'node' | 'vmid'>, storage: string): string {
  return `${node}/${storage}/${vmid}`;
}

/** Configuration of the VM or, if it does not exist yet, of its template; empty if neither is known. */
export function baseOf(vm: ResolvedVm, observed: Observed): ReadonlyMap<string, string> {
  const found = observed.vms.get(vm.address);
  if (found?.kind === 'present') return found.vm.current;
  return templateOf(vm, observed)?.vm.current ?? new Map();
}

export function templateOf(vm: ResolvedVm, observed: Observed): (TemplateChoice & { ok: true }) | undefined {
  const choice = vm.fields.clone && chooseTemplate(vm, observed);
  return choice?.ok ? choice : undefined;
}

export function isThere(vm: ResolvedVm, observed: Observed): boolean {
  const kind = observed.vms.get(vm.address)?.kind;
  return kind === 'present' || kind === 'hidden';
}

/** Storages that its disks are on or will be on. */
export function storagesOf(vm: ResolvedVm, observed: Observed): Set<string> {
  const { clone, disks = {}, efi, tpm, cloud_init } = vm.fields;
  const inherited = drivesOf(baseOf(vm, observed)).flatMap(({ volume }) => (volume && storageOfVolume(volume)) ?? []);
  const given = Object.values(disks).flatMap(({ storage, iso }) => [
    storage,
    typeof iso === 'string' ? iso.split(':')[0] : undefined,
  ]);
  const kept = clone?.storage !== undefined && !isThere(vm, observed) ? [] : inherited;
  const all = [...kept, clone?.storage, ...given, efi?.storage, tpm?.storage, cloud_init?.storage];
  return new Set(all.filter((storage): storage is string => storage !== undefined));
}
