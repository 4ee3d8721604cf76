/** The plan of a new VM: cloned from a template, or created empty. Pure. */

import type { Difference } from '../../change.ts';
import type { Findings } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import type { Step } from '../../step.ts';
import type { DesiredConfig } from '../config/desired.ts';
import { drivesOf, formatOfVolume } from '../config/disks.ts';
import { inheritedDevices } from '../config/inherited.ts';
import { packDesired, withoutSeed } from '../config/packed.ts';
import { printPropertyOf } from '../config/parts.ts';
import { diffVm } from '../diff/diff.ts';
import { diffHa } from '../ha.ts';
import type { VmObserved } from '../observed.ts';
import { stripOwnership } from '../ownership.ts';
import type { ResolvedVm } from '../stack.ts';
import { type CloneInput, type IdChoice, vmStep } from '../steps.ts';
import { checkVm, hasNode } from './checks/checks.ts';
import { chooseTemplate, type TemplateChoice } from './choices/choose-template.ts';
import {
  applied,
  desiredConfigOf,
  impossibleProblems,
  readyStep,
  secretKeys,
  seedStep,
  type VmPlan,
  type VmPlanInput,
} from './desired-vm.ts';
import { checkMoves, diskMoves, moveSteps } from './disk-moves.ts';
import { withNotes } from './notes.ts';
import { type Carried, carryNotes, slotProblems, takingSteps, withoutHolder } from './replace/carried.ts';

export function planCreation(input: VmPlanInput, findings: Findings, reason?: string): VmPlan | undefined {
  const { vm, observed } = input;
  const { fields } = vm;
  const template: TemplateChoice | undefined = fields.clone && chooseTemplate(vm, observed);
  if (template && !template.ok) {
    // When the node does not exist, that is the only problem worth reporting.
    if (!template.dependsOnNode || hasNode(vm, observed)) findings.problems.push(template.problem);
    checkVm({ vm, base: undefined, creating: true }, observed, findings);
    return undefined;
  }
  const { carried } = input;
  const base = new Map([...(template?.vm.current ?? []), ...(carried?.drives ?? [])]);
  const before = findings.problems.length;
  const freed = input.freedId !== undefined && { freedId: input.freedId };
  checkVm({ vm, base, creating: true, carried: carried?.drives, ...freed }, observed, findings);
  if (carried) {
    findings.problems.push(...slotProblems(vm, carried, { place: fields.node, template: template?.vm.current }));
  }
  const planned = input.ids.choose(vm, input.freedId);
  if (findings.problems.length > before || planned === 'none') return undefined;
  const desired = desiredConfigOf(input, undefined, base);
  const made = new Map([...asCloned(vm, base), ...(carried?.drives ?? [])]);
  const { differences } = diffVm(desired, observedWith(made), undefined);
  // Proxmox would refuse these once the VM exists, and the VM could then neither be finished nor used.
  const hint = fields.clone ? 'Change the file, or clone another template.' : 'Change the file.';
  findings.problems.push(...impossibleProblems(vm, differences, made, hint));
  if (findings.problems.length > before) return undefined;
  const moves = diskMoves(differences, desired, made, {
    node: fields.node,
    bytesPerSecond: input.diskMoveBytesPerSecond,
  });
  const notes = checkMoves(input, moves, findings);
  const ids = idChoice(vm, planned);
  const making = template ? cloneStep(vm, ids, template) : createStep(vm, ids, withoutSlots(desired, carried));
  const steps = chained([
    ...(isRecorded(input) ? [vmStep(vm.address, 'vm.forget', {})] : []),
    reserveStep(vm, ids, observed, input.freedId),
    making,
    ...withoutHolder(vm, carried, [
      ...takingSteps(vm, carried),
      ...moveSteps(vm, moves),
      ...finishSteps(input, desired),
    ]),
  ]);
  return {
    change: {
      address: vm.address,
      kind: 'create',
      name: fields.name,
      node: fields.node,
      vmid: planned,
      reason: reason ?? creationReason(vm, template),
      differences: [
        ...placeDifferences(vm),
        ...creationDifferences(desired, base),
        ...diffHa(fields.ha || undefined, undefined, undefined),
      ],
      inherited: template ? inheritedDevices(desired, made).map(({ key, summary }) => `${key}: ${summary}`) : [],
      unmanaged: [],
      restartPending: [],
      restarts: false,
      ...withNotes([...(carried ? carryNotes(carried) : []), ...notes]),
    },
    steps,
  };
}

/** Fields that count only at creation: no configuration key holds them. */
function placeDifferences({ fields: { pool, clone } }: ResolvedVm): Difference[] {
  const given = { pool, 'clone.storage': clone?.storage, 'clone.format': clone?.format };
  return Object.entries(given).flatMap(([path, after]): Difference[] =>
    after === undefined ? [] : [{ path, key: path, before: null, after, by: 'file', effect: 'live' }],
  );
}

function creationReason(vm: ResolvedVm, template: TemplateChoice | undefined): string {
  if (!template?.ok) return 'It is created without a template.';
  const mode = vm.fields.clone?.mode ?? 'full';
  return `It is a ${mode} clone of ${template.template.name ?? 'template'} (${template.template.vmid} on ${template.template.node}).`;
}

/** The values that a clone will have: `clone.storage` and `clone.format` decide where and how its volumes are stored. */
function asCloned({ fields: { clone } }: ResolvedVm, base: ReadonlyMap<string, string>): Map<string, string> {
  const values = new Map(base);
  const { storage, mode } = clone ?? {};
  // A linked clone of a file is always qcow2.
  const format = clone?.format ?? (mode === 'linked' ? 'qcow2' : undefined);
  if (storage === undefined && format === undefined) return values;
  for (const drive of drivesOf(base)) {
    const { key, kind, file, value } = drive;
    if (kind === 'cdrom' || (mode === 'linked' && formatOfVolume(drive) === undefined)) continue;
    const name = kind === 'cloud-init' ? 'cloudinit' : `to-come${format === undefined ? '' : `.${format}`}`;
    values.set(key, printPropertyOf(key, value.with('file', `${storage ?? file.split(':')[0]}:${name}`)));
  }
  return values;
}

/** What the file sets, compared with the template. */
export function creationDifferences(desired: DesiredConfig, base: ReadonlyMap<string, string>): Difference[] {
  return diffVm(desired, observedWith(base), undefined).differences.filter(({ path }) => path !== 'ownership');
}

function observedWith(current: ReadonlyMap<string, string>): VmObserved {
  return {
    vmid: 0,
    node: '',
    uuid: undefined,
    digest: '',
    current,
    pending: new Map(),
    pendingDeletes: new Set(),
    running: false,
    lock: undefined,
    template: false,
  };
}

function cloneStep(vm: ResolvedVm, ids: IdChoice, template: TemplateChoice & { ok: true }): Step {
  const { fields, address } = vm;
  const source = template.template;
  const clone: CloneInput = {
    source: {
      node: source.node,
      vmid: source.vmid,
      ...(source.address !== undefined && { address: source.address }),
      ...(fields.clone && { reference: fields.clone.template }),
    },
    name: fields.name,
    mode: fields.clone?.mode ?? 'full',
    ...ids,
    ...(fields.clone?.storage !== undefined && { storage: fields.clone.storage }),
    storages: [
      ...new Set(
        drivesOf(template.vm.current).flatMap((drive) =>
          drive.kind === 'disk' ? [drive.file.split(':')[0] ?? ''] : [],
        ),
      ),
    ],
    ...(fields.clone?.format !== undefined && { format: fields.clone.format }),
    ...(fields.pool !== undefined && { pool: fields.pool }),
    ...(source.node !== fields.node && { target: fields.node }),
    ...notesOf(template.vm),
  };
  return vmStep(address, 'vm.clone', clone);
}

/** The notes of the template without its ownership line. */
function notesOf({ current }: VmObserved): { notes?: string } {
  const notes = stripOwnership(current.get('description') ?? '');
  return notes === '' ? {} : { notes };
}

function createStep(vm: ResolvedVm, ids: IdChoice, desired: DesiredConfig): Step {
  const { fields, address } = vm;
  return vmStep(address, 'vm.create', {
    node: fields.node,
    name: fields.name,
    ...ids,
    ...(fields.pool !== undefined && { pool: fields.pool }),
    desired: withoutSeed(packDesired(desired.values())),
  });
}

/** It was deleted outside Proxwright, and the state still has its record. */
function isRecorded({ vm, observed, recorded }: VmPlanInput): boolean {
  return recorded?.uuid !== undefined && observed.vms.get(vm.address)?.kind === 'gone';
}

/** Of a range, the ids that no visible guest has; `freedId` belongs to a VM that this plan destroys first. */
export function reserveStep(
  vm: ResolvedVm,
  { vmids, ...choice }: IdChoice,
  { guests }: Observed,
  freedId: number | undefined,
): Step {
  const free = vmids?.filter((vmid) => !guests.has(vmid) || vmid === freedId) ?? [];
  return vmStep(vm.address, 'vm.reserve', {
    node: vm.fields.node,
    name: vm.fields.name,
    ...choice,
    ...(vmids && { vmids: free.length > 0 ? free : vmids }),
    ...(vm.given && { given: vm.given }),
  });
}

/** Each step needs the one before it, in addition to what it already needs. */
export function chained(steps: readonly Step[]): Step[] {
  const own = new Set(steps.map(({ id }) => id));
  return steps.map((step, index) => {
    const before = steps[index - 1];
    const others = step.needs.filter((id) => !own.has(id));
    return { ...step, needs: before ? [...others, before.id] : others };
  });
}

/** A VM that is created without a template takes these disks afterwards. */
function withoutSlots(desired: DesiredConfig, carried: Carried | undefined): DesiredConfig {
  return new Map([...desired].filter(([key]) => !carried?.drives.has(key)));
}

export function idChoice(vm: ResolvedVm, chosen: number | undefined): IdChoice {
  if (vm.fields.vmid !== undefined) return { vmid: vm.fields.vmid };
  const planned = chosen === undefined ? {} : { planned: chosen };
  if (!vm.vmids) return planned;
  // Member n prefers the nth id of its group, so that names and ids match.
  const own = vm.vmids[vm.number - 1];
  return { ...planned, vmids: own === undefined ? vm.vmids : [own, ...vm.vmids.filter((vmid) => vmid !== own)] };
}

export function desiredSizes(desired: DesiredConfig): { slot: string; sizeBytes: number }[] {
  return [...desired.values()].flatMap(({ key, desired: disk }) =>
    disk.kind === 'disk' && disk.sizeBytes !== undefined ? [{ slot: key, sizeBytes: disk.sizeBytes }] : [],
  );
}

/** The steps of every new VM: configure, grow disks, read back, start, wait. */
function finishSteps({ vm, readyMs }: VmPlanInput, desired: DesiredConfig): Step[] {
  const { address, fields } = vm;
  const packed = packDesired(desired.values());
  const secrets = secretKeys(desired.values());
  const seed = seedStep(vm);
  const isRunning = fields.power === 'running';
  return [
    // The cloud-init files name the NICs, so those must exist first.
    ...(seed && fields.clone
      ? [vmStep(address, 'vm.configure', { desired: withoutSeed(packed) }, { part: 'devices' })]
      : []),
    ...(seed ? [seed] : []),
    vmStep(address, 'vm.configure', { desired: packed, ...(secrets.length > 0 && { secrets }) }),
    ...desiredSizes(desired).map(({ slot, sizeBytes }) =>
      vmStep(address, 'vm.resize', { slot, sizeBytes }, { part: slot }),
    ),
    vmStep(address, 'vm.verify', { desired: packed, applied: applied(vm, desired, isRunning ? undefined : 'stopped') }),
    ...(isRunning ? [vmStep(address, 'vm.start', {})] : []),
    ...(fields.ha === undefined ? [] : [vmStep(address, 'vm.ha', { ha: fields.ha })]),
    ...(isRunning ? [readyStep(vm, readyMs)] : []),
  ];
}
