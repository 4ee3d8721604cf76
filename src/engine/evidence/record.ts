/** One run of the gate as data: circumstances, stages, what differed, what was compared. All of it may be kept. Pure. */

import type { Address } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { redact, type Secret } from '../../base/secret.ts';
import type { Change, ChangeKind, Plan } from '../../kinds/change.ts';
import { type ComparedField, comparedFields } from '../../kinds/vm/diff/diff.ts';
import { comparedHa } from '../../kinds/vm/ha.ts';
import { comparableHa, foundHa } from '../../kinds/vm/observe-ha.ts';
import { effectiveValues } from '../../kinds/vm/observed.ts';
import { wanted } from '../../kinds/vm/plan/desired-vm.ts';
import type { ResourceOutcome } from '../../state/events.ts';
import type { PlanInput } from '../plan.ts';

const EVIDENCE_VERSION = 1;

/** In the order in which they are passed; a verification that only reads ends with `plan`. */
export const APPLY_STAGES = ['validate', 'doctor', 'plan', 'apply', 'last plan'] as const;
export const VERIFY_STAGES = ['validate', 'doctor', 'plan'] as const;

export type StageName = (typeof APPLY_STAGES)[number];

export interface StageRecord {
  readonly stage: StageName;
  readonly result: 'passed' | 'failed' | 'not reached';
  /** Null for a stage that was not reached. */
  readonly tookMs: number | null;
  /** One sentence. */
  readonly words: string;
  readonly problems: readonly Diagnostic[];
}

/** A VM that is not, or was not, as the file says. */
export interface Differing {
  readonly address: string;
  readonly name: string;
  readonly vmid: number | null;
  readonly node: string;
  readonly kind: ChangeKind;
  readonly reason: string;
  readonly fields: readonly {
    readonly path: string;
    readonly before: unknown;
    readonly after: unknown;
    readonly by: 'file' | 'others' | 'both';
  }[];
}

/** A VM that was compared with the file. */
interface ComparedVm extends Partial<VmEvidence> {
  readonly address: string;
  readonly name: string;
  readonly vmid: number | null;
  readonly node: string;
  readonly verdict: string;
  readonly restartPending: readonly string[];
}

export interface EvidenceInput {
  /** ISO 8601: when it began. */
  readonly time: string;
  readonly tookMs: number;
  readonly command: 'apply' | 'verify';
  /** As it can be typed again. */
  readonly typed: string;
  readonly task: string | undefined;
  readonly note: string | undefined;
  /** Unknown where the file could not be read. */
  readonly stack: string | undefined;
  readonly file: string;
  readonly runId: string | undefined;
  readonly isComplete: boolean;
  readonly versions: {
    readonly proxwright: string;
    readonly node: string;
    readonly proxmox: string | undefined;
  };
  readonly server: { readonly endpoint: string; readonly principal: string } | undefined;
  /** Of the directory of the stack file, where it is in git. */
  readonly commit: { readonly id: string; readonly isClean: boolean } | undefined;
  readonly stages: readonly StageRecord[];
  /** What was to be done. */
  readonly plan: Plan | undefined;
  readonly outcomes: ReadonlyMap<string, ResourceOutcome> | undefined;
  /** The plan that has to be empty. */
  readonly lastPlan: Plan | undefined;
  readonly compared: ReadonlyMap<string, VmEvidence> | undefined;
  /** The draft that was written about a failure. */
  readonly incident: string | undefined;
}

export type EvidenceRecord = ReturnType<typeof evidenceRecord>;

/** What is not known is null, so that every line has the same keys. */
export function evidenceRecord(input: EvidenceInput) {
  const { command, stack, plan, lastPlan, compared, outcomes, versions, server, commit } = input;
  return {
    version: EVIDENCE_VERSION,
    time: input.time,
    result: input.isComplete ? ('Complete' as const) : ('Failed' as const),
    command,
    typed: input.typed,
    task: input.task ?? `${command === 'apply' ? 'Apply' : 'Verify'} ${stack ?? input.file}`,
    note: input.note ?? null,
    stack: stack ?? null,
    file: input.file,
    runId: input.runId ?? null,
    tookMs: input.tookMs,
    versions: { ...versions, proxmox: versions.proxmox ?? null },
    server: server ?? null,
    commit: commit ?? null,
    stages: input.stages,
    changes: plan ? changeCounts(plan) : null,
    differed: plan ? differingOf(plan) : null,
    outcomes: outcomes ? Object.fromEntries(outcomes) : null,
    remaining: lastPlan ? differingOf(lastPlan) : null,
    compared: lastPlan && compared ? comparedOf(lastPlan, compared) : null,
    notChecked: (lastPlan ?? plan)?.warnings.map(({ detail }) => detail) ?? [],
    incident: input.incident ?? null,
  };
}

function changeCounts({ changes }: Plan): Readonly<Partial<Record<ChangeKind, number>>> {
  const counts: Partial<Record<ChangeKind, number>> = {};
  for (const { kind } of changes) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

export function differingOf({ changes }: Plan): Differing[] {
  return changes.filter(differs).map(({ address, name, vmid, node, kind, reason, differences }) => ({
    address,
    name,
    vmid: vmid ?? null,
    node,
    kind,
    reason,
    fields: differences.map(({ path, before, after, by }) => ({ path, before, after, by })),
  }));
}

/** What left the file and is kept is no difference that an apply would settle. */
const differs = ({ kind }: Change) => kind !== 'none' && kind !== 'keep';

function comparedOf({ changes }: Plan, compared: ReadonlyMap<string, VmEvidence>): ComparedVm[] {
  return changes.map((change) => comparedVm(change, compared));
}

/** What was found out about one VM. */
export function comparedVm(change: Change, compared: ReadonlyMap<string, VmEvidence>): ComparedVm {
  const { address, name, vmid, node, kind, restartPending } = change;
  return {
    address,
    name,
    vmid: vmid ?? null,
    node,
    verdict: kind === 'none' ? 'as the file says' : kind,
    ...compared.get(address),
    restartPending,
  };
}

export interface VmEvidence {
  /** The uuid that is remembered, and the one that was found. */
  readonly uuid: { readonly wanted: string | null; readonly found: string | null };
  readonly fields: readonly ComparedField[];
}

/** VMs that are not there, or that may not be read, have nothing to compare. */
export function evidenceOf({
  stack,
  state,
  observed,
  secrets,
}: Pick<PlanInput, 'stack' | 'state' | 'observed' | 'secrets'>): ReadonlyMap<Address, VmEvidence> {
  const entries = stack.vms.flatMap((vm): [Address, VmEvidence][] => {
    const [remembered, found] = [state.vms[vm.address], observed.vms.get(vm.address)];
    if (!remembered || found?.kind !== 'present') return [];
    const { vmid, uuid } = found.vm;
    const input = {
      stackName: stack.name,
      vm,
      recorded: remembered,
      observed,
      secrets: secrets.get(vm.address) ?? new Map(),
      mayRestart: false,
      asIncomplete: false,
      readyMs: stack.rollout.timeouts.readyMs,
    };
    const fields = [
      ...comparedFields(wanted(input, { vmid, uuid }, effectiveValues(found.vm)), found.vm, remembered.lastApplied),
      ...comparedHa(comparableHa(vm.fields.ha, observed), foundHa(observed, vmid)),
    ];
    return [[vm.address, { uuid: { wanted: remembered.uuid ?? null, found: uuid ?? null }, fields }]];
  });
  return new Map(entries);
}

export function redacted<Value>(value: Value, secrets: readonly Secret[]): Value {
  return withoutSecrets(value, secrets) as Value; // the same shape, with other words in its texts
}

function withoutSecrets(value: unknown, secrets: readonly Secret[]): unknown {
  if (typeof value === 'string') return redact(value, secrets);
  if (Array.isArray(value)) return value.map((each) => withoutSecrets(each, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutSecrets(each, secrets)]));
}
