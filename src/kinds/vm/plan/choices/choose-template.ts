/** Finds the template that `clone.template` names, or says why there is none. */

import type { Diagnostic, Where } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice, type Hint, type HintPart, setting } from '../../../../base/hint.ts';
import { closest } from '../../../../base/text/closest.ts';
import { GRANTEES, nodeCommand } from '../../../../base/text/node-command.ts';
import { counted } from '../../../../base/values/units.ts';
import type { GuestRow } from '../../../cluster.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { Observed } from '../../../observed.ts';
import { type TemplateCandidate, templateKey } from '../../../template/observed.ts';
import type { VmObserved } from '../../observed.ts';
import type { ResolvedVm } from '../../stack.ts';

export type TemplateChoice =
  | { readonly ok: true; readonly template: TemplateCandidate; readonly vm: VmObserved }
  | {
      readonly ok: false;
      readonly problem: Diagnostic;
      /** Another node might not have this problem. */
      readonly dependsOnNode?: boolean;
    };

export function chooseTemplate(vm: ResolvedVm, observed: Observed): TemplateChoice {
  const reference = vm.fields.clone?.template ?? '';
  const { node } = vm.fields;
  const where = whereOf(vm, 'clone.template');
  const choice = pickTemplate({
    reference,
    preferredNode: node,
    candidates: observed.templates.get(templateKey(reference)) ?? [],
    guests: [...observed.guests.values()],
    // A token without privileges gets an empty list, which says nothing about what exists.
    seesNothing: observed.guests.size === 0,
    where,
    byId: setting('clone.template', 9000),
  });
  if (!choice.ok || choice.template.node === node || isOnSharedStorage(choice.vm, node, observed)) return choice;
  const { template } = choice;
  return {
    ok: false,
    dependsOnNode: true,
    problem: new ProxwrightError({
      code: 'MISSING_REFERENCE',
      where,
      detail: `Template "${reference}" (${template.vmid}) is on ${template.node}, its disks are on local storage there, and the VM belongs on ${node}.`,
      hint: advice`Set ${setting('node', template.node)}, or create a template with that name on ${node}.`,
    }).diagnostic,
  };
}

export interface TemplateQuestion {
  /** A name or an id. */
  readonly reference: string | number;
  /** Templates on this node are preferred. */
  readonly preferredNode?: string | undefined;
  /** Guests with that name or id. */
  readonly candidates: readonly TemplateCandidate[];
  /** Everything the token sees. */
  readonly guests: readonly Pick<GuestRow, 'vmid' | 'name' | 'template' | 'node'>[];
  readonly seesNothing: boolean;
  readonly where: Where;
  /** How to name a template by its id, for the hint: `clone.template: 9000`. */
  readonly byId: Hint | HintPart;
}

/** The one template that the reference names, with its configuration; or why there is none. */
export function pickTemplate(question: TemplateQuestion): TemplateChoice {
  const { reference, preferredNode, candidates, where } = question;
  if (candidates.length === 0) return noneFound(question);
  const templates = candidates.filter((candidate) => candidate.isTemplate);
  const here = templates.filter((candidate) => candidate.node === preferredNode);
  const [chosen, second] = here.length > 0 ? here : templates;
  if (!chosen) {
    const [first] = candidates;
    return refusal(
      where,
      `"${reference}" is VM ${first?.vmid} on ${first?.node}, but it is not a template.`,
      `Convert it once (this cannot be undone): ${nodeCommand('qm template', [first?.vmid ?? ''])}, or name a template.`,
    );
  }
  if (second) {
    const all = (here.length > 0 ? here : templates).map((each) => `${each.vmid} on ${each.node}`).join(', ');
    const several = `"${reference}" names several templates: ${all}.`;
    const refused = refusal(where, several, advice`Name the template by its id: ${question.byId}`);
    return { ...refused, dependsOnNode: here.length === 0 };
  }
  if (chosen.vm.ok) return { ok: true, template: chosen, vm: chosen.vm.value };
  return {
    ok: false,
    problem: new ProxwrightError({
      code: 'PRIVILEGE_MISSING',
      where,
      detail: `Template ${chosen.vmid} cannot be read, so its disks and NICs are unknown: the token needs ${chosen.vm.needs}.`,
      hint: `Grant it to the user and its token: ${nodeCommand('pveum acl modify', [`/vms/${chosen.vmid}`], { ...GRANTEES, roles: 'PVETemplateUser' })}`,
    }).diagnostic,
  };
}

function refusal(where: Where, detail: string, hint: Hint | string): TemplateChoice & { readonly ok: false } {
  return { ok: false, problem: new ProxwrightError({ code: 'MISSING_REFERENCE', detail, hint, where }).diagnostic };
}

function noneFound({ reference, guests, seesNothing, where }: TemplateQuestion): TemplateChoice {
  if (seesNothing) return { ok: false, problem: noVisibleVms(`whether "${reference}" exists`, where).diagnostic };
  // With local storage, several nodes have a template of the same name.
  const names = [...new Set(guests.filter((row) => row.template).map((row) => row.name ?? String(row.vmid)))];
  const guess = closest(String(reference), names);
  const seen =
    names.length > 0 ? `Templates the token can see: ${names.join(', ')}.` : 'The token can see no template.';
  return refusal(
    where,
    [`No visible VM is called "${reference}".`, seen, ...unnamed(guests)].join(' '),
    guess === undefined ? 'Correct the name, or give the token VM.Audit on the template.' : `Did you mean "${guess}"?`,
  );
}

/** Proxmox lists the guests of a node that is offline, or has just started, without their names. */
function unnamed(guests: TemplateQuestion['guests']): string[] {
  const rows = guests.filter(({ name }) => name === undefined);
  const nodes = [...new Set(rows.map(({ node }) => node))].join(', ');
  return rows.length === 0
    ? []
    : [
        `Proxmox lists ${counted(rows.length, 'guest')} on ${nodes} without a name at the moment; it may be one of them.`,
      ];
}

/** The token sees no VM at all; `question` completes "cannot tell …". */
export function noVisibleVms(question: string, where: Where): ProxwrightError {
  return new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    where,
    detail: `The token sees no VM at all, so Proxwright cannot tell ${question}: the token lacks VM.Audit everywhere.`,
    hint: `Grant privileges to the user and, with privilege separation, also to the token: ${nodeCommand('pveum acl modify', ['/vms'], { ...GRANTEES, roles: 'PVEVMAdmin' })}`,
  });
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

/** Guests that the file may mean. On local storage every node has its own, so those of the node of the VM come first. */
export function templatesNamed(
  reference: string | number,
  guests: ReadonlyMap<number, GuestRow>,
  node: string,
): GuestRow[] {
  const named = [...guests.values()].filter(({ vmid, name, template, type }) =>
    typeof reference === 'number' ? vmid === reference : template && type === 'qemu' && name === reference,
  );
  return [...named.filter((guest) => guest.node === node), ...named.filter((guest) => guest.node !== node)];
}
