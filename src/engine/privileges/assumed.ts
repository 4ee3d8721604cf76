/**
 * What a stack needs if none of its VMs exist yet and everything it refers to does: for a token that sees nothing yet, for
 * use without a server, and for the whole life of the VMs. Where a template cannot be read, its storages and bridges are
 * unknown; the requirements then cover all of them, and a guess says so. Pure.
 */
import type { Address } from '../../base/address.ts';
import type { Instant } from '../../base/clock.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { Secret } from '../../base/secret.ts';
import type { ImageSite, Observed, TemplateCandidate } from '../../kinds/observed.ts';
import { type PciHardware, pciPath } from '../../kinds/pci-mapping/mapping.ts';
import type { AclPath, OneOf } from '../../kinds/privileges/need.ts';
import { emptyState } from '../../kinds/recorded.ts';
import { machinesOf, type ResolvedImage, type ResolvedStack, type ResolvedVm, whereOf } from '../../kinds/stack.ts';
import { neededTemplates } from '../../kinds/template/in-stack.ts';
import { templateKey } from '../../kinds/template/reference.ts';
import type { ResolvedSecret } from '../../kinds/vm/config/desired-config.ts';
import { secretFieldsOf } from '../../kinds/vm/fields/secrets.ts';
import type { VmObserved } from '../../kinds/vm/observed.ts';
import { candidatesOf } from '../../kinds/vm/placement/candidates.ts';
import { withNodes } from '../../kinds/vm/placement/place.ts';
import { LOCAL_ZONE } from '../../kinds/vm/privileges/devices.ts';
import { ANY_VM, emptyVm, UNKNOWN_VMID } from '../../kinds/vm/privileges/forecast.ts';
import type { ServerVersion } from '../../pve/compatibility.ts';
import { planStack } from '../plan.ts';
import { RequirementList } from './requirement.ts';
import { type PlanNeeds, requirementsOf } from './requirements.ts';

export interface AssumedInput {
  readonly stack: ResolvedStack;
  readonly version: ServerVersion;
  readonly now: Instant;
  /** What is known about the cluster, if one can be read. */
  readonly observed?: (Pick<Observed, 'templates' | 'pciMappings'> & Partial<Pick<Observed, 'nodes'>>) | undefined;
  readonly lifecycle?: boolean;
}

export type AssumedNeeds =
  | {
      readonly ok: true;
      readonly needs: PlanNeeds;
      readonly guesses: readonly Guess[];
    }
  /** The file contradicts itself, whatever the token may do. */
  | { readonly ok: false; readonly problems: readonly Diagnostic[] };

/** A template could not be read, so the requirements cover everything of these kinds. */
export interface Guess {
  readonly template: string;
  readonly covers: readonly ('vms' | 'storages' | 'bridges')[];
}

const COVERED = {
  vms: 'VMs (set clone.template to an id to narrow this)',
  storages: 'storages (set clone.storage to narrow this)',
  bridges: 'bridges',
} as const;

export function guessText({ template, covers }: Guess): string {
  const all = covers.map((each) => COVERED[each]).join(', ');
  return `Template ${template} could not be read, so these privileges cover all ${all}. Grant read access to the template and ask again for a smaller set.`;
}

/** Stands for the storage of disks that could not be read. */
const UNKNOWN_STORAGE = 'unknown';

export function assumedNeeds(given: AssumedInput): AssumedNeeds {
  const input = { ...given, stack: withAnyNodes(given.stack, given.observed) };
  const { stack, version, now, lifecycle = false } = input;
  const observed = assumedWorld(input);
  const planned = planStack({ stack, state: emptyState(stack.name), observed, secrets: anySecrets(stack), now });
  if (!planned.ok) return planned;
  const exact = requirementsOf({ plan: planned.plan, stack, observed, version, lifecycle });
  const unread = stack.vms.filter(
    (vm) => vm.fields.clone && !readTemplate(vm, input) && neededTemplates(stack, [vm]).length === 0,
  );
  return {
    ok: true,
    needs: { ...exact, requirements: withGuesses(exact, unread) },
    guesses: guessesAt(unread),
  };
}

/** Any of its nodes: the privileges of a VM do not depend on the node. */
function withAnyNodes(stack: ResolvedStack, observed: AssumedInput['observed']): ResolvedStack {
  const known: Observed['nodes'] = observed?.nodes ?? new Map();
  const nodes = stack.vms.flatMap((vm) => {
    const [first = 'NODE'] = candidatesOf(vm, known);
    return vm.placement ? [[vm.address, first] as const] : [];
  });
  return withNodes({ ...stack, vms: stack.vms.map(({ placement: _, ...vm }) => vm) }, new Map(nodes));
}

function assumedWorld(input: AssumedInput): Observed {
  const { stack, version, observed } = input;
  const nodes = [...new Set(machinesOf(stack).map(({ fields }) => fields.node))];
  return {
    version: { version: version.version, release: '' },
    nodes: new Map<string, { readonly online: boolean }>([
      ...(observed?.nodes ?? []),
      ...nodes.map((node) => [node, { online: true }] as const),
    ]),
    guests: new Map(),
    vms: new Map(),
    templates: assumedTemplates(input),
    storages: new Map(),
    images: stack.images.flatMap(assumedSites),
    bridges: new Map(),
    pciMappings: observed?.pciMappings ?? { ok: false, needs: 'a server to ask' },
    pciMaking: {
      privileges: new Set(['Mapping.Modify', 'Mapping.Use']),
      devices: new Map(nodes.map((node) => [node, { ok: true, value: assumedDevices(stack, node) }])),
    },
    claimants: new Map(),
    locks: new Map(),
    takenIds: new Set(),
  };
}

/** The image is on no storage yet, and every storage accepts it. */
function assumedSites(image: ResolvedImage): ImageSite[] {
  const { storage, content } = image.fields;
  const row = {
    storage,
    type: 'dir',
    content: new Set([content]),
    active: true,
    enabled: true,
    shared: false,
    availableBytes: undefined,
    formats: undefined,
  };
  return image.nodes.map((node) => ({
    image,
    node,
    row,
    isRead: true,
    isShared: false,
    file: { ok: true, value: undefined },
  }));
}

function assumedDevices(stack: ResolvedStack, node: string): PciHardware[] {
  return stack.vms
    .filter(({ fields }) => fields.node === node)
    .flatMap(({ fields }) => Object.values(fields.pci ?? {}))
    .flatMap(({ device }) => (device === undefined ? [] : [pciPath(device)]))
    .map((path) => ({
      path: /\.[0-7]$/.test(path) ? path : `${path}.0`,
      id: '0000:0000',
      subsystemId: undefined,
      iommuGroup: 0,
      mdev: false,
      name: '',
    }));
}

/** On every node with a VM that clones it, so that the node is never the problem. */
function assumedTemplates(input: AssumedInput): Map<string, TemplateCandidate[]> {
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
function readTemplate({ fields }: ResolvedVm, { observed }: AssumedInput): VmObserved | undefined {
  const candidates = observed?.templates.get(templateKey(fields.clone?.template ?? '')) ?? [];
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

function anySecrets(stack: ResolvedStack): ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>> {
  const any = { value: new Secret(''), digest: '' };
  return new Map(
    machinesOf(stack).map(({ address, fields }) => [
      address,
      new Map(secretFieldsOf(fields).map(({ path }) => [path, any])),
    ]),
  );
}

/** A placeholder in a path becomes everything of its kind. */
function withGuesses({ requirements }: PlanNeeds, unread: readonly ResolvedVm[]): PlanNeeds['requirements'] {
  const list = new RequirementList();
  for (const requirement of requirements) {
    const [first, ...rest] = requirement.paths;
    const real: OneOf<AclPath> = [widened(first), ...rest.map(widened)];
    for (const each of requirement.because) list.add({ ...requirement, paths: real }, each);
  }
  for (const vm of unread) {
    const because = { where: whereOf(vm, 'clone.template'), step: 'vm.clone' };
    list.add({ privileges: ['SDN.Use'], paths: [{ path: LOCAL_ZONE, below: true }] }, because);
  }
  return list.all;
}

function widened(place: AclPath): AclPath {
  if (place.path === `/vms/${UNKNOWN_VMID}`) return ANY_VM;
  return place.path === `/storage/${UNKNOWN_STORAGE}` ? { path: '/storage', below: true } : place;
}

function guessesAt(unread: readonly ResolvedVm[]): Guess[] {
  const templates = [...new Set(unread.map(({ fields }) => String(fields.clone?.template)))];
  return templates.map((template) => {
    const users = unread.filter(({ fields }) => String(fields.clone?.template) === template);
    const isId = /^\d+$/.test(template);
    const hasStorage = users.every(({ fields }) => fields.clone?.storage !== undefined);
    return {
      template,
      covers: [...(isId ? [] : ['vms' as const]), ...(hasStorage ? [] : ['storages' as const]), 'bridges'],
    };
  });
}
