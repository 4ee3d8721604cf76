/**
 * The facts of a run, in the order they became true. State is computed from them: `fold(previous state, events)`. Each
 * event touches one resource, so the order in which siblings' events interleave does not matter.
 */
import { z } from 'zod';
import { type FileState, fileStateSchema, type StackState, type VmState, vmPatchSchema } from './stack-state.ts';

const at = z.string().describe('ISO 8601');

/** What an event changes in the memory of one VM; null forgets it. */
const patch = z.strictObject({
  address: z.string(),
  vm: vmPatchSchema.nullable(),
});

/** What an event changes in the memory of one file, by its key; null forgets it. */
const filePatch = z.strictObject({ key: z.string(), file: fileStateSchema.nullable() });

export const eventSchema = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('runStarted'),
    at,
    runId: z.string(),
    command: z.string(),
    who: z.string(),
    steps: z.array(z.strictObject({ id: z.string(), address: z.string(), stage: z.string(), action: z.string() })),
  }),
  z.strictObject({
    event: z.literal('stepStarted'),
    at,
    step: z.string(),
    address: z.string(),
    action: z.string(),
    /** What is about to be done, so that a successor can find out whether it was. */
    intent: z.json().optional(),
    patch: patch.optional(),
  }),
  z.strictObject({ event: z.literal('taskAttached'), at, step: z.string(), upid: z.string() }),
  z.strictObject({ event: z.literal('learned'), at, step: z.string(), patch }),
  z.strictObject({ event: z.literal('learnedFile'), at, step: z.string(), patch: filePatch }),
  z.strictObject({ event: z.literal('stepDone'), at, step: z.string(), patch: patch.optional() }),
  z.strictObject({
    event: z.literal('stepFailed'),
    at,
    step: z.string(),
    code: z.string(),
    detail: z.string(),
    /** The server was lost sight of: what was asked of it may go on, so the step stays open. */
    lost: z.literal(true).optional(),
  }),
  z.strictObject({
    event: z.literal('note'),
    at,
    level: z.enum(['info', 'warn']),
    address: z.string().optional(),
    text: z.string(),
  }),
  z.strictObject({ event: z.literal('runEnded'), at, outcome: z.enum(['done', 'failed', 'canceled']) }),
]);

export type RunEvent = z.output<typeof eventSchema>;
export type VmPatch = z.output<typeof patch>;

export function foldEvents(state: StackState, events: readonly RunEvent[]): StackState {
  const vms: Record<string, VmState> = { ...state.vms };
  const files: Record<string, FileState> = { ...state.files };
  for (const event of events) {
    if (event.event === 'learnedFile') {
      const { key, file } = event.patch;
      if (file === null) delete files[key];
      else files[key] = file;
    } else if ('patch' in event && event.patch) {
      applyPatch(vms, event.patch);
    }
  }
  return { ...state, vms, files };
}

const NEW_VM: VmState = {
  vmid: 0,
  node: '',
  name: '',
  phase: 'creating',
  lastApplied: {},
  secrets: {},
  macs: {},
  addresses: {},
};

function applyPatch(vms: Record<string, VmState>, change: VmPatch): void {
  if (change.vm === null) {
    delete vms[change.address];
    return;
  }
  const given = Object.fromEntries(Object.entries(change.vm).filter(([, value]) => value !== undefined));
  vms[change.address] = { ...(vms[change.address] ?? NEW_VM), ...given };
}

/** Steps a run began and did not end: what a successor has to settle first. */
export interface OpenStep {
  readonly step: string;
  readonly address: string;
  readonly action: string;
  readonly intent: unknown;
  /** The last task it waited for. */
  readonly upid: string | undefined;
}

export function openSteps(events: readonly RunEvent[]): OpenStep[] {
  const open = new Map<string, OpenStep>();
  for (const event of events) {
    if (event.event === 'stepStarted') {
      open.set(event.step, {
        step: event.step,
        address: event.address,
        action: event.action,
        intent: event.intent,
        upid: undefined,
      });
    } else if (event.event === 'taskAttached') {
      const step = open.get(event.step);
      if (step) open.set(event.step, { ...step, upid: event.upid });
    } else if (event.event === 'stepDone' || (event.event === 'stepFailed' && !event.lost)) {
      open.delete(event.step);
    }
  }
  return [...open.values()];
}
