/**
 * Converts journals of format 1, written up to version 0.1.0, to current events, so that this version can resume a run that
 * died under the old one. Format 1 had no event for an intent (a step was started a second time) and none for the plan, and
 * recorded readiness and changes of the state without a step.
 */
import { z } from 'zod';
import { filePatch, vmPatch } from '../kinds/recorded.ts';
import { eventSchema, JOURNAL_FORMAT, plannedStep, type RunEvent } from './events.ts';

const at = z.string();

const oldEventSchema = z.lazy(() =>
  z.union([
    z.strictObject({
      event: z.literal('runStarted'),
      at,
      runId: z.string(),
      command: z.string(),
      who: z.string(),
      steps: z.array(plannedStep),
    }),
    z.strictObject({
      event: z.literal('stepStarted'),
      at,
      step: z.string(),
      address: z.string(),
      action: z.string(),
      intent: z.json().optional(),
      patch: vmPatch.optional(),
    }),
    z.strictObject({ event: z.literal('stepDone'), at, step: z.string(), patch: vmPatch.optional() }),
    z.strictObject({ event: z.literal('learned'), at, step: z.string(), patch: vmPatch }),
    z.strictObject({ event: z.literal('learnedFile'), at, step: z.string(), patch: filePatch }),
    eventSchema,
  ]),
);

type OldEvent = z.output<typeof oldEventSchema>;

export function parseOldEvent(value: unknown): OldEvent | undefined {
  const parsed = oldEventSchema.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

export function upgradeJournal(runId: string, old: readonly OldEvent[]): RunEvent[] {
  const [first] = old;
  if (!first) return [];
  const started = old.find((event) => event.event === 'runStarted');
  const { command = 'settle', who = 'unknown' } = started ?? {};
  const upgrade = new Upgrade(old);
  return [
    { event: 'runStarted', at: first.at, format: JOURNAL_FORMAT, runId, command, who },
    ...old.flatMap((event) => upgrade.next(event)),
  ];
}

type OldLearned = Extract<OldEvent, { event: 'learned' }>;

class Upgrade {
  /** Open steps, by the address they belong to. */
  readonly #open = new Map<string, string>();
  /** When the last step of each address ended. */
  readonly #endedAt = new Map<string, string>();
  /** The last event about the readiness of each VM: with it, the VM was ready. */
  readonly #lastOfReadiness: ReadonlyMap<string, OldLearned>;
  #wrapped = 0;

  constructor(old: readonly OldEvent[]) {
    const learned = old.filter((event) => event.event === 'learned').filter(({ step }) => isReadiness(step));
    this.#lastOfReadiness = new Map(learned.map((event) => [event.step, event]));
  }

  next(event: OldEvent): RunEvent[] {
    switch (event.event) {
      case 'runStarted':
        return 'steps' in event ? [{ event: 'planned', at: event.at, steps: event.steps }] : [];
      case 'stepStarted':
        return this.#started(event);
      case 'stepDone': {
        const { patch, ...done } = { patch: undefined, ...event };
        this.#end(done);
        return patch ? [{ event: 'learned', at: done.at, step: done.step, patch }, done] : [done];
      }
      case 'stepFailed':
        if (!event.lost) this.#end(event);
        return [event];
      case 'learned':
        if (isReadiness(event.step)) return this.#readiness(event);
        return this.#open.has(event.step) ? [event] : this.#withStep(event, event.patch.address);
      case 'learnedFile':
        return this.#open.has(event.step) ? [event] : this.#withStep(event, event.patch.file?.address ?? event.step);
      default:
        return [event];
    }
  }

  #end({ step, at: endedAt }: { readonly step: string; readonly at: string }): void {
    const address = this.#open.get(step);
    if (address !== undefined) this.#endedAt.set(address, endedAt);
    this.#open.delete(step);
  }

  /** The first start of a step is its start; every start with an intent also records the intent. */
  #started(event: Extract<OldEvent, { event: 'stepStarted' }>): RunEvent[] {
    const { intent, patch, ...started } = { intent: undefined, patch: undefined, ...event };
    const isNew = !this.#open.has(started.step);
    this.#open.set(started.step, started.address);
    const intended: RunEvent[] =
      intent === undefined && patch === undefined
        ? []
        : [
            {
              event: 'intended',
              at: started.at,
              step: started.step,
              intent: intent ?? null,
              ...(patch && { patch }),
            },
          ];
    return [...(isNew ? [started] : []), ...intended];
  }

  /** The readiness step lasted from the end of the last step of the VM until its last event about readiness. */
  #readiness(event: OldLearned): RunEvent[] {
    const { step, at: learnedAt, patch } = event;
    const { address } = patch;
    const isFirst = !this.#open.has(step);
    const isLast = this.#lastOfReadiness.get(step) === event;
    const startedAt = this.#endedAt.get(address) ?? learnedAt;
    if (isFirst) this.#open.set(step, address);
    if (isLast) this.#end(event);
    return [
      ...(isFirst ? [{ event: 'stepStarted', at: startedAt, step, address, action: 'vm.ready' } as const] : []),
      event,
      ...(isLast ? [{ event: 'stepDone', at: learnedAt, step } as const] : []),
    ];
  }

  /** Adds a step to an event that was recorded outside of any step. */
  #withStep(event: Extract<OldEvent, { event: 'learned' | 'learnedFile' }>, address: string): RunEvent[] {
    this.#wrapped++;
    const step = `${event.step}/${this.#wrapped}`;
    return [
      { event: 'stepStarted', at: event.at, step, address, action: 'state.edit' },
      { ...event, step },
      { event: 'stepDone', at: event.at, step },
    ];
  }
}

function isReadiness(step: string): boolean {
  return step.endsWith('/ready');
}
