/** One verified run as data, without secrets: circumstances, stages, differences, and what was compared. Pure. */

import type { Address } from '../../base/address.ts';
import type { Diagnostic } from '../../base/diagnostics.ts';
import { type Change, type ChangeKind, type OutsideChange, type Plan, pendingRestarts } from '../../kinds/change.ts';
import type { EvidenceContext } from '../../kinds/kind.ts';
import { KINDS } from '../../kinds/registry.ts';
import type { Evidence } from '../../kinds/shown.ts';
import type { ResourceOutcome } from '../../state/events.ts';

const EVIDENCE_VERSION = 1;

/** In their order; a verification that only reads ends with `plan`. */
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

/** A VM that differs or differed from the file. */
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
interface ComparedVm extends Partial<Evidence> {
  readonly address: string;
  readonly name: string;
  readonly vmid: number | null;
  readonly node: string;
  readonly verdict: string;
  readonly restartPending: readonly string[];
}

export interface EvidenceInput {
  /** ISO 8601: start of the run. */
  readonly time: string;
  readonly tookMs: number;
  readonly command: 'apply' | 'verify';
  /** The command, ready to be run again. */
  readonly typed: string;
  readonly task: string | undefined;
  readonly note: string | undefined;
  /** Undefined if the file could not be read. */
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
  /** Git commit of the directory of the stack file. */
  readonly commit: { readonly id: string; readonly isClean: boolean } | undefined;
  readonly stages: readonly StageRecord[];
  /** What the run was meant to change. */
  readonly plan: Plan | undefined;
  readonly outcomes: ReadonlyMap<string, ResourceOutcome> | undefined;
  /** The plan that must be empty. */
  readonly lastPlan: Plan | undefined;
  readonly compared: ReadonlyMap<string, Evidence> | undefined;
  /** The incident draft for a failure. */
  readonly incident: string | undefined;
  /** The picture of the run, relative to the table. */
  readonly timeline?: string | undefined;
}

export type EvidenceRecord = ReturnType<typeof evidenceRecord>;

/** Unknown values are null, so that every line has the same keys. */
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
    restartPending: pendingRestarts((lastPlan ?? plan)?.changes ?? []),
    compared: lastPlan && compared ? comparedOf(lastPlan, compared) : null,
    notChecked: (lastPlan ?? plan)?.warnings.map(({ detail }) => detail) ?? [],
    incident: input.incident ?? null,
    timeline: input.timeline ?? null,
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

/** An apply would not change a VM that left the file and is kept. */
const differs = ({ kind }: Change) => kind !== 'none' && kind !== 'keep';

function comparedOf({ changes }: Plan, compared: ReadonlyMap<string, Evidence>): ComparedVm[] {
  return changes.map((change) => comparedVm(change, compared));
}

export function comparedVm(change: Change, compared: ReadonlyMap<string, Evidence>): ComparedVm {
  const { address, name, vmid, node, kind, restartPending, outside } = change;
  return {
    address,
    name,
    vmid: vmid ?? null,
    node,
    verdict: kind !== 'none' ? kind : outside ? outside.map(outsideWords).join('; ') : 'matches the file',
    ...compared.get(address),
    restartPending,
  };
}

const outsideWords = ({ path, applied, actual }: OutsideChange) => `${path} is ${actual}, applied was ${applied}`;

/** Compares each resource that exists and can be read: its identity, and every field of the file. */
export function evidenceOf(input: EvidenceContext): ReadonlyMap<Address, Evidence> {
  return new Map(KINDS.flatMap((kind) => [...(kind.evidence?.(input) ?? [])]));
}
