/** Shared by the plans of new and existing VMs: their input, the desired configuration, and what will be recorded. */

import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import type { Hint } from '../../../base/hint.ts';
import type { ResolvedSecret } from '../../../base/secret.ts';
import type { Change, Difference } from '../../change.ts';
import { whereOf } from '../../fields/positions.ts';
import type { PlannedIds } from '../../ids.ts';
import type { PlanContext } from '../../kind.ts';
import type { Observed } from '../../observed.ts';
import { pciMappingsFor } from '../../pci-mapping/plan.ts';
import type { Step } from '../../step.ts';
import { appliedValues, type DesiredConfig, type DesiredEntry } from '../config/desired.ts';
import { desiredConfig } from '../config/desired-config.ts';
import { effectiveValues, type VmObserved } from '../observed.ts';
import { printOwnership } from '../ownership.ts';
import { readyChecks } from '../ready/checks.ts';
import type { VmRecord } from '../record.ts';
import { ipsOfSeed } from '../seed/addresses.ts';
import { seedFieldsOf } from '../seed/fields.ts';
import { seedPlace } from '../seed/seed-place.ts';
import type { ResolvedVm } from '../stack.ts';
import { vmStep } from '../steps.ts';
import type { Carried } from './replace/carried.ts';
import { withTakenOverMacs } from './replace/kept-macs.ts';

export interface VmPlanInput {
  readonly stackName: string;
  /** Of the state. */
  readonly lineage?: string | undefined;
  readonly vm: ResolvedVm;
  readonly recorded: VmRecord | undefined;
  readonly observed: Observed;
  readonly secrets: ReadonlyMap<string, ResolvedSecret>;
  /** How long a started guest may take to become ready, unless the VM sets its own limit. */
  readonly readyMs: number;
  /** The limit of each disk that moves to another storage or format. */
  readonly diskMoveBytesPerSecond?: number | undefined;
  /** Names of VMs whose kept disks may be destroyed. */
  readonly destroyData?: readonly string[] | undefined;
  /** The plan may restart the VM for changes that need it. */
  readonly mayRestart: boolean;
  /** Its ownership line says that it is not finished. */
  readonly asIncomplete: boolean;
  /** False: a VM without an ownership line gets one only together with another change. */
  readonly claimsAlone?: boolean | undefined;
  /** Of a template: the fingerprint of everything it is made from. */
  readonly recipe?: string;
  /** MAC addresses of the VM that it replaces, by slot: it has them where the file sets none. */
  readonly takenOverMacs?: Readonly<Record<string, string>> | undefined;
  /** The id of the old VM, which is free once that VM is destroyed. */
  readonly freedId?: number;
  /** Kept disks of the VM that a holder has, or will have when the VM takes them. */
  readonly carried?: Carried | undefined;
  readonly ids: PlannedIds;
}

export interface VmPlan {
  readonly change: Change;
  readonly steps: readonly Step[];
}

/**
 * What the state records once the VM was read back: the values of its fields, and its node. The power state only when it
 * was recorded before: otherwise the VM still has to be started or stopped, and a run that resumes after a crash must not
 * take that for done.
 */
export function applied(vm: ResolvedVm, desired: DesiredConfig, lastPower?: unknown): Record<string, unknown> {
  const { node, power } = vm.fields;
  return { ...appliedValues(desired), node, ...(lastPower === power && { power }) };
}

/** Creates the volume with custom cloud-init files; undefined when the VM has none. */
export function seedStep(vm: ResolvedVm): Step | undefined {
  const fields = seedFieldsOf(vm.fields);
  const storage = vm.fields.cloud_init?.storage;
  return fields && storage !== undefined ? vmStep(vm.address, 'vm.seed', { storage, fields }) : undefined;
}

/** Waits until the guest that an earlier step started is ready. */
export function readyStep({ address, fields }: ResolvedVm, readyMs: number): Step {
  const { nics } = fields;
  return vmStep(address, 'vm.ready', { checks: readyChecks(fields, readyMs), ...(nics && { nics }) });
}

/** Differences that no request can resolve: one problem for each device and reason. `values`: what the VM has. */
export function impossibleProblems(
  vm: ResolvedVm,
  differences: readonly Difference[],
  values: ReadonlyMap<string, string>,
  hint: Hint | string,
): Diagnostic[] {
  const impossible = differences.filter(({ effect }) => effect === 'impossible');
  const first = impossible.filter(
    ({ key, reason }, index) => impossible.findIndex((each) => each.key === key && each.reason === reason) === index,
  );
  return first.map(({ path, key, after, reason = 'Proxmox cannot change it.' }) => {
    // A device that cannot be created is a problem of the device, not of one field.
    const device = values.has(key) ? undefined : path.split('.').slice(0, 2).join('.');
    const what = device === undefined ? `${path} cannot become ${JSON.stringify(after)}` : `${device} cannot be made`;
    return new ProxwrightError({
      code: 'BAD_VALUE',
      where: whereOf(vm, device ?? path),
      detail: `${what}: ${reason}`,
      hint,
    }).diagnostic;
  });
}

export function secretKeys(entries: Iterable<DesiredEntry>): string[] {
  return [...entries].filter(({ desired }) => desired.kind === 'secret').map(({ key }) => key);
}

/** Of a VM of the stack that exists. */
export function desiredOfExisting(
  { stack, state, observed, secrets }: Pick<PlanContext, 'stack' | 'state' | 'observed' | 'secrets'>,
  vm: ResolvedVm,
  recorded: VmRecord,
  actual: VmObserved,
): DesiredConfig {
  const own = secrets.get(vm.address) ?? new Map();
  const input = { stackName: stack.name, lineage: state.lineage, vm, recorded, observed, secrets: own };
  return desiredConfigOf(input, { vmid: actual.vmid, uuid: actual.uuid }, effectiveValues(actual));
}

type DesiredInput = Pick<VmPlanInput, 'stackName' | 'lineage' | 'vm' | 'recorded' | 'observed' | 'secrets' | 'recipe'> &
  Partial<Pick<VmPlanInput, 'asIncomplete' | 'takenOverMacs'>>;

/** `base`: the values of the VM, or of the template it is cloned from. */
export function desiredConfigOf(
  input: DesiredInput,
  identity: { vmid: number; uuid: string | undefined } | undefined,
  base: ReadonlyMap<string, string>,
): DesiredConfig {
  const { vm, stackName, secrets, asIncomplete } = input;
  const line = printOwnership({
    stack: stackName,
    address: vm.address,
    vmid: identity?.vmid ?? 0,
    uuid: identity?.uuid,
    ...(input.recipe === undefined ? { lineage: input.lineage, ips: ipsOfSeed(vm.fields) } : { recipe: input.recipe }),
    ...(asIncomplete && { incomplete: true, nonce: input.recorded?.nonce }),
  });
  const desired = desiredConfig(vm.fields, {
    ownershipLine: line,
    secrets,
    sensitive: vm.sensitive,
    pciMappings: pciMappingsFor(vm, input.observed),
    seed: seedPlace({
      fields: vm.fields,
      secrets,
      base,
      uuid: identity?.uuid,
      recordedVolume: input.recorded?.seed?.volid,
    }),
  });
  return withTakenOverMacs(desired, input.takenOverMacs ?? {}, base);
}
