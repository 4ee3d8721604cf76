/** Which VM a `clone.template` means, or why none can be meant. */
import { closest } from '../base/closest.ts';
import type { Diagnostic } from '../base/diagnostics.ts';
import { AuthError, SpecError } from '../base/errors.ts';
import type { VmObserved } from '../resources/vm/observed.ts';
import type { ResolvedVm } from '../spec/types.ts';
import { templateKey } from './observe.ts';
import type { Observed, TemplateCandidate } from './observed.ts';
import { whereOf } from './where.ts';

export type TemplateChoice =
  | { readonly ok: true; readonly template: TemplateCandidate; readonly vm: VmObserved }
  | { readonly ok: false; readonly problem: Diagnostic };

export function chooseTemplate(vm: ResolvedVm, observed: Observed): TemplateChoice {
  const reference = vm.fields.clone?.template ?? '';
  const candidates = observed.templates.get(templateKey(reference)) ?? [];
  const refuse = (detail: string, hint: string): TemplateChoice => ({
    ok: false,
    problem: new SpecError({ code: 'MISSING_REFERENCE', detail, hint, where: whereOf(vm, 'clone.template') })
      .diagnostic,
  });
  if (candidates.length === 0) return noneFound(vm, reference, observed, refuse);
  const templates = candidates.filter((candidate) => candidate.isTemplate);
  if (templates.length === 0) {
    const [first] = candidates;
    return refuse(
      `"${reference}" is VM ${first?.vmid} on ${first?.node}, but it is not a template.`,
      `Convert it once (this cannot be undone): qm template ${first?.vmid}, or name a template.`,
    );
  }
  const here = templates.filter((candidate) => candidate.node === vm.fields.node);
  const [chosen, second] = here.length > 0 ? here : templates;
  if (!chosen) return noneFound(vm, reference, observed, refuse);
  if (second) {
    const all = (here.length > 0 ? here : templates).map((each) => `${each.vmid} on ${each.node}`).join(', ');
    return refuse(
      `"${reference}" names several templates: ${all}.`,
      'Name the template by its id: clone.template: 9000',
    );
  }
  if (!chosen.vm.ok) {
    return {
      ok: false,
      problem: new AuthError({
        code: 'PRIVILEGE_MISSING',
        where: whereOf(vm, 'clone.template'),
        detail: `Template ${chosen.vmid} cannot be read, so its disks and cards are unknown: it needs ${chosen.vm.needs}.`,
        hint: `Grant it: pveum acl modify /vms/${chosen.vmid} --roles PVETemplateUser, for the user and its token.`,
      }).diagnostic,
    };
  }
  if (chosen.node !== vm.fields.node && !isOnSharedStorage(chosen.vm.value, vm.fields.node, observed)) {
    return refuse(
      `Template "${reference}" (${chosen.vmid}) is on ${chosen.node}, its disks are local there, and the VM is meant for ${vm.fields.node}.`,
      `Set node: ${chosen.node}, or put a template of that name on ${vm.fields.node}.`,
    );
  }
  return { ok: true, template: chosen, vm: chosen.vm.value };
}

function noneFound(
  vm: ResolvedVm,
  reference: string | number,
  observed: Observed,
  refuse: (detail: string, hint: string) => TemplateChoice,
): TemplateChoice {
  // An empty list is what a token without rights sees; it says nothing about what exists.
  if (observed.guests.size === 0) {
    return {
      ok: false,
      problem: new AuthError({
        code: 'PRIVILEGE_MISSING',
        where: whereOf(vm, 'clone.template'),
        detail: `The token sees no VM at all, so nobody can say whether "${reference}" exists: it lacks VM.Audit everywhere.`,
        hint: 'Grant rights to the user and, with privilege separation, to the token as well: pveum acl modify /vms --roles PVEVMAdmin …',
      }).diagnostic,
    };
  }
  const names = [...observed.guests.values()].filter((row) => row.template).map((row) => row.name ?? String(row.vmid));
  const guess = closest(String(reference), names);
  return refuse(
    `No visible VM is called "${reference}".${names.length > 0 ? ` Templates the token can see: ${names.join(', ')}.` : ' The token can see no template.'}`,
    guess === undefined ? 'Correct the name, or give the token VM.Audit on the template.' : `Did you mean "${guess}"?`,
  );
}

function isOnSharedStorage(template: VmObserved, node: string, observed: Observed): boolean {
  const storages = observed.storages.get(node);
  if (!storages?.ok) return false;
  const shared = new Set(storages.value.filter((row) => row.shared).map((row) => row.storage));
  return [...template.current].every(([key, value]) => {
    if (!/^(ide|sata|scsi|virtio|efidisk|tpmstate)\d+$/.test(key) || value.startsWith('none')) return true;
    return shared.has(value.split(':')[0] ?? '');
  });
}
