/**
 * The machines of a stack as if everything that it refers to existed. Where a template cannot be read, its storages and
 * bridges are unknown: the privileges then cover all of them, and a guess says so. Pure.
 */
import { Secret } from '../../../base/secret.ts';
import { whereOf } from '../../fields/positions.ts';
import type { AssumeContext, Assumption, Secrets } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import { LOCAL_ZONE, need, UNKNOWN_STORAGE, UNKNOWN_VMID } from '../../privileges/need.ts';
import { machinesOf, type ResolvedStack } from '../../stack.ts';
import { neededTemplates } from '../../template/foreseen.ts';
import { type TemplateCandidate, templateKey } from '../../template/observed.ts';
import { secretFieldsOf } from '../fields/secrets.ts';
import type { VmObserved } from '../observed.ts';
import { candidatesOf } from '../placement/candidates.ts';
import { withNodes } from '../placement/place.ts';
import type { ResolvedVm } from '../stack.ts';
import { emptyVm } from './forecast.ts';

export function assumedMachines(given: AssumeContext): Assumption {
  const context = { ...given, stack: withAnyNodes(given.stack, given.observed) };
  const { stack } = context;
  const unread = stack.vms.filter(
    (vm) => vm.fields.clone && !readTemplate(vm, context) && neededTemplates(stack, [vm]).length === 0,
  );
  return {
    stack,
    observed: { templates: assumedTemplates(context) },
    secrets: anySecrets(stack),
    guesses: guessesAt(unread),
    needs: unread.map((vm) => ({
      needs: [need('SDN.Use', [{ path: LOCAL_ZONE, below: true }], { field: 'clone.template' })],
      step: 'vm.clone',
      whereOf: () => whereOf(vm, 'clone.template'),
    })),
  };
}

/** Any of its nodes: the privileges of a VM do not depend on which one it is. */
function withAnyNodes(stack: ResolvedStack, observed: AssumeContext['observed']): ResolvedStack {
  const known: Observed['nodes'] = observed?.nodes ?? new Map();
  const nodes = stack.vms.flatMap((vm) => {
    const [first = 'NODE'] = candidatesOf(vm, known);
    return vm.placement ? [[vm.address, first] as const] : [];
  });
  return withNodes({ ...stack, vms: stack.vms.map(({ placement: _, ...vm }) => vm) }, new Map(nodes));
}

/** On every node with a VM that clones it, so that the node is never the problem. */
function assumedTemplates(input: AssumeContext): Map<string, TemplateCandidate[]> {
  const templates = new Map<string, TemplateCandidate[]>();
  for (const vm of input.stack.vms) {
    const { clone, node } = vm.fields;
    if (!clone) continue;
    const key = templateKey(clone.template);
    // The plan builds the templates of the stack itself.
    if (neededTemplates(input.stack, [vm]).length > 0) continue;
    const known = templates.get(key) ?? [];
    if (known.some((candidate) => candidate.node === node)) continue;
    const value = readTemplate(vm, input) ?? guessedTemplate(input.stack, key);
    const candidate = { vmid: value.vmid, node, name: String(clone.template), isTemplate: true };
    templates.set(key, [...known, { ...candidate, vm: { ok: true, value: { ...value, node } } }]);
  }
  return templates;
}

/** The template that the VM would be cloned from, if it could be read. */
function readTemplate({ fields }: ResolvedVm, { observed }: AssumeContext): VmObserved | undefined {
  const candidates = observed?.templates?.get(templateKey(fields.clone?.template ?? '')) ?? [];
  const templates = candidates.filter(({ isTemplate }) => isTemplate);
  const chosen = templates.find(({ node }) => node === fields.node) ?? templates[0];
  return chosen?.vm.ok ? chosen.vm.value : undefined;
}

/** A template with every slot that the file refers to. */
function guessedTemplate(stack: ResolvedStack, key: string): VmObserved {
  const users = stack.vms.filter(({ fields }) => fields.clone && templateKey(fields.clone.template) === key);
  const vmid = key.startsWith('#') ? Number(key.slice(1)) : UNKNOWN_VMID;
  const disk = `${UNKNOWN_STORAGE}:base-${vmid}-disk-0,size=1M`;
  const current = new Map<string, string>([['scsi0', disk]]);
  for (const { fields } of users) {
    const inherited = Object.entries(fields.disks ?? {}).filter(
      ([, given]) => given.storage === undefined && !given.iso,
    );
    for (const slot of [...inherited.map(([name]) => name), ...(fields.boot ?? [])]) {
      if (/^(ide|sata|scsi|virtio)\d+$/.test(slot)) current.set(slot, disk);
      else if (/^net\d+$/.test(slot)) current.set(slot, 'virtio');
    }
  }
  return { ...emptyVm(vmid, ''), template: true, current };
}

function anySecrets(stack: ResolvedStack): Secrets {
  const any = { value: new Secret(''), digest: '' };
  return new Map(
    machinesOf(stack).map(({ address, fields }) => [
      address,
      new Map(secretFieldsOf(fields).map(({ path }) => [path, any])),
    ]),
  );
}

const COVERED = {
  vms: 'VMs (set clone.template to an id to narrow this)',
  storages: 'storages (set clone.storage to narrow this)',
  bridges: 'bridges',
} as const;

/** One sentence for each template that could not be read. */
function guessesAt(unread: readonly ResolvedVm[]): string[] {
  const templates = [...new Set(unread.map(({ fields }) => String(fields.clone?.template)))];
  return templates.map((template) => {
    const users = unread.filter(({ fields }) => String(fields.clone?.template) === template);
    const isId = /^\d+$/.test(template);
    const hasStorage = users.every(({ fields }) => fields.clone?.storage !== undefined);
    const all = [...(isId ? [] : [COVERED.vms]), ...(hasStorage ? [] : [COVERED.storages]), COVERED.bridges].join(', ');
    return `Template ${template} could not be read, so these privileges cover all ${all}. Grant read access to the template and ask again for a smaller set.`;
  });
}
