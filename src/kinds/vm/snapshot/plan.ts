/**
 * `snapshot create`, `snapshot delete` and `rollback` as plans: which VMs of the stack they concern, what happens to
 * each, and what prevents it. Nothing else: changes in the file wait for an apply. Pure.
 */

import { type Address, kindOf } from '../../../base/address.ts';
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command } from '../../../base/hint.ts';
import { printByteSize } from '../../../base/values/units.ts';
import { type KindPlan, NOTHING_PLANNED, type ResourcePlan, type SnapshotContext } from '../../kind.ts';
import { recordedMachines } from '../../recorded.ts';
import { propertyOf } from '../config/parts.ts';
import { notOurs, sameVm } from '../identity.ts';
import { inRolls } from '../plan/roll/roll.ts';
import { vmStep } from '../steps.ts';
import { snapshotProblems } from './obstacles.ts';
import { rollbackOf } from './rollback.ts';
import { nameProblem, type VmSnapshots } from './snapshots.ts';
import { changeOf, noSuch, type Subject, unfinished } from './subject.ts';

export function planSnapshots(context: SnapshotContext): KindPlan {
  const { request } = context;
  const named = nameProblem(request.name);
  if (named !== undefined) return { ...NOTHING_PLANNED, problems: [badName(request.name, named)] };
  const { subjects, problems } = subjectsOf(context);
  if (problems.length > 0) return { ...NOTHING_PLANNED, problems };
  switch (request.kind) {
    case 'create':
      return creations(subjects, request, context);
    case 'delete':
      return deletions(subjects, request.name);
    case 'rollback': {
      const plans = subjects.map((subject) => rollbackOf(subject, request, context));
      const resources = plans.flatMap(({ plan }) => plan ?? []);
      return {
        ...NOTHING_PLANNED,
        resources: inRolls(resources, { ...context, isAsked: true }),
        problems: plans.flatMap((each) => each.problems),
      };
    }
  }
}

function badName(name: string, rule: string): Diagnostic {
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: { file: name },
    detail: `"${name}" cannot be the name of a snapshot: a name ${rule}.`,
    hint: 'Choose another name, such as before-upgrade.',
  }).diagnostic;
}

interface Subjects {
  readonly subjects: readonly Subject[];
  readonly problems: readonly Diagnostic[];
}

/** VMs of the state that exist and are ours. */
function subjectsOf({ stack, state, observed, isSelected }: SnapshotContext): Subjects {
  const subjects: Subject[] = [];
  const problems: Diagnostic[] = [];
  const desired = new Map(stack.vms.map((vm) => [vm.address, vm]));
  for (const [address, recorded] of recordedMachines(state)) {
    if (kindOf(address) !== 'vm' || !isSelected(address)) continue;
    const found = observed.vms.get(address);
    const read = observed.snapshots?.get(address);
    const needs = found?.kind === 'hidden' ? found.needs : read?.ok === false ? read.needs : undefined;
    if (needs !== undefined) problems.push(unreadable(address, recorded.vmid, needs));
    else if (recorded.uuid === undefined) problems.push(unfinished(address, recorded.name));
    else if (found?.kind === 'present' && !sameVm(recorded, found.vm)) {
      problems.push(notOurs({ address, recorded, observed: found.vm }).diagnostic);
    } else if (found?.kind === 'present' && read?.ok) {
      const { vm } = found;
      const name = vm.current.get('name') ?? recorded.name;
      subjects.push({ address, name, vm, recorded, desired: desired.get(address), snapshots: read.value });
    }
  }
  const isNothing = subjects.length + problems.length === 0;
  return { subjects, problems: isNothing ? [nothingThere()] : problems };
}

function unreadable(address: Address, vmid: number, needs: string): Diagnostic {
  return new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    where: { address },
    detail: `VM ${vmid} and its snapshots cannot be read: the token needs ${needs}.`,
    hint: 'Grant it to the user and to its token, then run the command again.',
  }).diagnostic;
}

function nothingThere(): Diagnostic {
  return new ProxwrightError({
    code: 'MISSING_REFERENCE',
    detail: 'None of the selected VMs exists yet.',
    hint: advice`Create them first: ${command('apply')}`,
  }).diagnostic;
}

type Creation = Extract<SnapshotContext['request'], { kind: 'create' }>;

/** VMs that have it already are left out: repeating an interrupted command resumes it. */
function creations(
  subjects: readonly Subject[],
  { name, memory, description }: Creation,
  { observed }: SnapshotContext,
): KindPlan {
  const open = subjects.filter((subject) => !has(subject, name));
  const done = subjects.filter((subject) => has(subject, name));
  if (open.length === 0) return { ...NOTHING_PLANNED, problems: [taken(name, done)] };
  const problems = open.flatMap(({ address, vm, snapshots }) =>
    snapshotProblems({ vm, snapshots, memory, observed, where: { address } }),
  );
  const resources = open.map((subject): ResourcePlan => {
    const { address, vm } = subject;
    const isSaved = memory && vm.running;
    const input = { name, memory: isSaved, ...(description !== undefined && { description }) };
    const notes = !memory ? [] : isSaved ? [savedMemory(vm.current)] : ['it is stopped: there is no memory to save'];
    const change = { ...changeOf(subject, `You asked for the snapshot ${name}.`), ...(notes.length > 0 && { notes }) };
    return { change, steps: [vmStep(address, 'vm.snapshot', input)] };
  });
  const checked = done.map(({ address }) => `${address} already has a snapshot ${name}, which stays as it is.`);
  return { ...NOTHING_PLANNED, resources, problems, ...(checked.length > 0 && { checked }) };
}

/** Rule [source qemu-server QemuConfig.pm __snapshot_save_vmstate]: room for twice the memory and 500 MiB. */
function savedMemory(current: ReadonlyMap<string, string>): string {
  const mib = Number(propertyOf('memory', current.get('memory')).get('current') ?? 512);
  return `its memory is saved while it runs; Proxmox reserves ${printByteSize((mib * 2 + 500) * 1024 ** 2)} for it`;
}

function taken(name: string, subjects: readonly Subject[]): Diagnostic {
  const addresses = subjects.map(({ address }) => address);
  return new ProxwrightError({
    code: 'ALREADY_EXISTS',
    where: { file: name },
    detail: `${addresses.join(', ')} already ${addresses.length === 1 ? 'has' : 'have'} a snapshot ${name}. Nothing was changed.`,
    hint: advice`Choose another name, or delete it first: ${command('snapshot delete', name)}`,
  }).diagnostic;
}

function deletions(subjects: readonly Subject[], name: string): KindPlan {
  const having = subjects.filter((subject) => has(subject, name));
  if (having.length === 0) return { ...NOTHING_PLANNED, problems: [noSuch(name, subjects)] };
  const resources = having.map((subject): ResourcePlan => {
    const state = subject.snapshots.list.find((each) => each.name === name)?.state;
    const notes =
      state === undefined ? [] : [`it is not complete (${state}): the task that worked on it was interrupted`];
    return {
      change: {
        ...changeOf(subject, 'You asked for it. The VM and its present data stay as they are.'),
        ...(notes.length > 0 && { notes }),
      },
      steps: [vmStep(subject.address, 'vm.delete-snapshot', { name }, { part: name })],
    };
  });
  return { ...NOTHING_PLANNED, resources };
}

function has({ snapshots }: { readonly snapshots: VmSnapshots }, name: string): boolean {
  return snapshots.list.some((each) => each.name === name);
}
