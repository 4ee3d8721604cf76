/**
 * The events of a run, in order. They are the only record of it: state, terminal, `runs`, metrics, incident drafts and the
 * list of steps that a later run has to settle are all computed from them. Each event touches one
 * resource, so the order in which siblings' events interleave does not matter.
 */
import { z } from 'zod';
import { kindOf } from '../base/address.ts';
import { HOOK_MOMENTS, hookStatus, type OutageRecord, outageStart } from '../kinds/outage.ts';
import { filePatch, NEW_RECORD, type StackState, type VmPatch, vmPatch } from '../kinds/recorded.ts';

/** Version of the event format. Journals of format 1 are upgraded while they are read: old-journal.ts. */
export const JOURNAL_FORMAT = 2;

const at = z.string().describe('ISO 8601');

export const plannedStep = z.strictObject({
  id: z.string(),
  address: z.string(),
  stage: z.string(),
  action: z.string(),
  /**
   * Resources that have to be done before it starts; absent if there are none. It shows what the resource waited for.
   */
  after: z.array(z.string()).optional(),
  /** It makes its resource unavailable: the members of this group take turns, with a pause after each. */
  roll: z.strictObject({ group: z.string(), pauseMs: z.number() }).optional(),
});

export type PlannedRoll = NonNullable<z.output<typeof plannedStep>['roll']>;

/** How many requests the process had sent to the server by then; absent in journals of earlier versions. */
const requests = z.number().int().optional();

/** The outcome of a run for one resource. */
export const RESOURCE_OUTCOMES = ['done', 'failed', 'notReady', 'canceled', 'skipped'] as const;

/** Where and how a run was started, as a record of who did what. Nothing depends on it. */
const runSourceSchema = z.lazy(() =>
  z.strictObject({
    host: z.string(),
    /** Without secrets. */
    commandLine: z.string(),
    /** Of the stack file. */
    repository: z
      .strictObject({
        commit: z.string(),
        branch: z.string().optional(),
        /** Whether files differ from the commit; absent if that is not known. */
        dirty: z.boolean().optional(),
      })
      .optional(),
    ci: z.strictObject({ system: z.string(), user: z.string().optional(), url: z.string().optional() }).optional(),
  }),
);

export type RunSource = z.output<typeof runSourceSchema>;

export const eventSchema = z.lazy(() =>
  z.discriminatedUnion('event', [
    z.strictObject({
      event: z.literal('runStarted'),
      at,
      format: z.literal(JOURNAL_FORMAT),
      runId: z.string(),
      command: z.string(),
      who: z.string(),
      source: runSourceSchema.optional(),
    }),
    /** The steps that the run will execute. */
    z.strictObject({ event: z.literal('planned'), at, steps: z.array(plannedStep) }),
    z.strictObject({
      event: z.literal('stepStarted'),
      at,
      step: z.string(),
      address: z.string(),
      action: z.string(),
      /** From here on, this run makes the resource unavailable. */
      outage: outageStart.optional(),
      /** For a step that only waits: how long at most. */
      timeoutMs: z.number().optional(),
      requests,
    }),
    /** What a step is about to request, so that a later run can find out whether it happened. */
    z.strictObject({ event: z.literal('intended'), at, step: z.string(), intent: z.json(), patch: vmPatch.optional() }),
    z.strictObject({
      event: z.literal('taskAttached'),
      at,
      step: z.string(),
      upid: z.string(),
      /** How long the step waits for it at most. */
      timeoutMs: z.number().optional(),
    }),
    z.strictObject({ event: z.literal('learned'), at, step: z.string(), patch: vmPatch }),
    /** Moves the record of one address to another, in one event: a crash leaves no second copy. */
    z.strictObject({
      event: z.literal('moved'),
      at,
      step: z.string(),
      from: z.string(),
      to: z.string(),
      /** Of the VM that moves: a journal is read again over its own state, where another VM may have the address by then. */
      vmid: z.number().int().optional(),
    }),
    z.strictObject({ event: z.literal('learnedFile'), at, step: z.string(), patch: filePatch }),
    /** A program that the file names for this moment of a change, before it is started and after it has ended. */
    z.strictObject({
      event: z.literal('hook'),
      at,
      step: z.string(),
      address: z.string(),
      group: z.string(),
      moment: z.enum(HOOK_MOMENTS),
      status: hookStatus,
      /** Its last lines. */
      output: z.string().optional(),
    }),
    z.strictObject({
      event: z.literal('stepDone'),
      at,
      step: z.string(),
      /** The resource is available again, or removed as planned. */
      endsOutageOf: z.string().optional(),
      requests,
    }),
    z.strictObject({
      event: z.literal('stepFailed'),
      at,
      step: z.string(),
      code: z.string(),
      detail: z.string(),
      /** The connection was lost: the request may still take effect, so the step stays open. */
      lost: z.literal(true).optional(),
      requests,
    }),
    z.strictObject({
      event: z.literal('resourceEnded'),
      at,
      address: z.string(),
      outcome: z.enum(RESOURCE_OUTCOMES),
      /** A Diagnostic. */
      problem: z.record(z.string(), z.json()).optional(),
    }),
    z.strictObject({
      event: z.literal('note'),
      at,
      level: z.enum(['info', 'warn']),
      address: z.string().optional(),
      text: z.string(),
      /** It announces a pause before another attempt. */
      wait: z
        .strictObject({
          ms: z.number(),
          code: z.string(),
          /** Why, as reported by the server. */
          said: z.string().optional(),
        })
        .optional(),
    }),
    z.strictObject({ event: z.literal('runEnded'), at, outcome: z.enum(['done', 'failed', 'canceled']) }),
  ]),
);

export type RunEvent = z.output<typeof eventSchema>;
export type ResourceOutcome = (typeof RESOURCE_OUTCOMES)[number];

export function foldEvents(state: StackState, events: readonly RunEvent[]): StackState {
  const told = events.filter(isRemembered);
  if (told.length === 0) return state;
  const vms: StackState['vms'] = { ...state.vms };
  const files: StackState['files'] = { ...state.files };
  const outages: Record<string, OutageRecord> = { ...state.outages };
  for (const event of told) {
    if (event.event === 'learnedFile') {
      const { key, file } = event.patch;
      if (file === null) delete files[key];
      else files[key] = file;
    } else if (event.event === 'moved') {
      const vm = vms[event.from];
      if (event.vmid !== undefined && vm?.vmid !== event.vmid) continue;
      delete vms[event.from];
      if (vm) vms[event.to] = vm;
      // The outage of a VM that is set aside is that of the new one.
      if (kindOf(event.to) === 'replaced' && kindOf(event.from) === 'vm') continue;
      const outage = outages[event.from];
      delete outages[event.from];
      if (outage) outages[event.to] = outage;
    } else if ('patch' in event && event.patch) {
      applyPatch(vms, event.patch);
    } else {
      applyOutage(outages, event);
    }
  }
  return { ...state, vms, files, ...((state.outages || Object.keys(outages).length > 0) && { outages }) };
}

/** Most events only tell how a run went. Copying the state for each of them would take most of the time of a large run. */
function isRemembered(event: RunEvent): boolean {
  switch (event.event) {
    case 'stepStarted':
      return event.outage !== undefined;
    case 'stepDone':
      return event.endsOutageOf !== undefined;
    default:
      return 'patch' in event || event.event === 'moved' || event.event === 'hook';
  }
}

function applyPatch(vms: StackState['vms'], change: VmPatch): void {
  if (change.vm === null) {
    delete vms[change.address];
    return;
  }
  const given = Object.fromEntries(Object.entries(change.vm).filter(([, value]) => value !== undefined));
  vms[change.address] = { ...(vms[change.address] ?? NEW_RECORD), ...given };
}

function applyOutage(outages: Record<string, OutageRecord>, event: RunEvent): void {
  if (event.event === 'stepStarted' && event.outage) {
    // One that an earlier run began continues: its hooks are not repeated.
    outages[event.address] = { since: event.at, hooks: {}, ...outages[event.address], ...event.outage };
  } else if (event.event === 'hook') {
    const { address, group, moment, status, at: since } = event;
    const known = outages[address] ?? { group, since, hooks: {} };
    outages[address] = { ...known, hooks: { ...known.hooks, [moment]: status } };
  } else if (event.event === 'stepDone' && event.endsOutageOf !== undefined) {
    delete outages[event.endsOutageOf];
  }
}

/** A step that a run started and did not end: the next run settles it first. */
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
  const change = (step: string, facts: Partial<OpenStep>) => {
    const known = open.get(step);
    if (known) open.set(step, { ...known, ...facts });
  };
  for (const event of events) {
    switch (event.event) {
      case 'stepStarted': {
        const { step, address, action } = event;
        open.set(step, { step, address, action, intent: undefined, upid: undefined });
        break;
      }
      case 'intended':
        // A task of an earlier attempt says nothing about this one.
        change(event.step, { intent: event.intent, upid: undefined });
        break;
      case 'taskAttached':
        change(event.step, { upid: event.upid });
        break;
      case 'stepDone':
        open.delete(event.step);
        break;
      case 'stepFailed':
        if (!event.lost) open.delete(event.step);
        break;
      default:
        break;
    }
  }
  return [...open.values()];
}
