/** Which lines of a journal are valid events: an old journal must load, and a wrong line must not. */
import { describe, expect, it } from 'vitest';
import { eventSchema } from './events.ts';

const at = '2026-01-01T00:00:00.000Z';
const step = 'vm.web/clone';
const file = { address: 'image.noble', node: 'pve1', volid: 'local:import/a.qcow2', sizeBytes: 5 };
const planned = { id: step, address: 'vm.web', stage: 'create', action: 'vm.clone' };

/** For each kind of event: one with the required fields only, and one with all fields. */
const EVENTS: readonly { readonly must: Record<string, unknown>; readonly may?: Record<string, unknown> }[] = [
  {
    must: { event: 'runStarted', at, format: 2, runId: 'r', command: 'apply', who: 'operator' },
    may: { source: { host: 'laptop', commandLine: 'proxwright apply' } },
  },
  { must: { event: 'planned', at, steps: [planned, { ...planned, roll: { group: 'vm.web', pauseMs: 5_000 } }] } },
  {
    must: { event: 'stepStarted', at, step, address: 'vm.web', action: 'vm.clone' },
    may: { outage: { group: 'vm.web', keeps: { vmid: 401, macs: { net0: 'BC:24:11:00:00:01' } } } },
  },
  {
    must: { event: 'hook', at, step, address: 'vm.web', group: 'vm.web', moment: 'before_stop', status: 'started' },
    may: { output: 'node/web drained' },
  },
  {
    must: { event: 'intended', at, step, intent: { vmid: 401 } },
    may: { patch: { address: 'vm.web', vm: { vmid: 401 } } },
  },
  { must: { event: 'moved', at, step, from: 'vm.old', to: 'vm.web' }, may: { vmid: 101 } },
  { must: { event: 'taskAttached', at, step, upid: 'UPID:pve1:…' }, may: { timeoutMs: 300_000 } },
  { must: { event: 'learned', at, step, patch: { address: 'vm.web', vm: null } } },
  { must: { event: 'learnedFile', at, step, patch: { key: 'pve1/a', file } } },
  { must: { event: 'stepDone', at, step }, may: { endsOutageOf: 'vm.web' } },
  {
    must: { event: 'resourceEnded', at, address: 'vm.web', outcome: 'failed' },
    may: { problem: { code: 'NO_SPACE' } },
  },
  { must: { event: 'stepFailed', at, step, code: 'TASK_FAILED', detail: 'no' }, may: { lost: true } },
  { must: { event: 'note', at, level: 'info', text: 'slow' }, may: { address: 'vm.web' } },
  { must: { event: 'runEnded', at, outcome: 'done' } },
];
const cases = EVENTS.map(({ must, may = {} }) => [String(must.event), must, { ...must, ...may }] as const);

const isEvent = (value: unknown) => eventSchema.safeParse(value).success;
const without = (value: Record<string, unknown>, key: string) =>
  Object.fromEntries(Object.entries(value).filter(([each]) => each !== key));

describe.each(cases)('%s', (_, smallest, largest) => {
  it('is accepted with the required fields, and with all fields', () => {
    expect(eventSchema.parse(smallest)).toEqual(smallest);
    expect(eventSchema.parse(largest)).toEqual(largest);
  });

  it.each(Object.keys(smallest))('is rejected without its %s', (key) => {
    expect(isEvent(without(smallest, key))).toBe(false);
  });

  it.each(Object.keys(largest))('is rejected if its %s has another type', (key) => {
    const other = key === 'vmid' || key === 'timeoutMs' ? 'five' : 5;
    expect(isEvent({ ...largest, [key]: other })).toBe(key === 'intent');
  });

  it('is rejected with an unknown field', () => {
    expect(isEvent({ ...largest, more: 'x' })).toBe(false);
  });
});

describe('a value inside an event', () => {
  it.each([
    ['a planned step', { event: 'planned', at, steps: [planned] }, 'steps'],
    ['a patch', { event: 'learned', at, step, patch: { address: 'vm.web', vm: {} } }, 'patch'],
    ['a patch of a file', { event: 'learnedFile', at, step, patch: { key: 'pve1/a', file: null } }, 'patch'],
  ])('is checked strictly: %s', (_, event, key) => {
    const held = [(event as Record<string, unknown>)[key]].flat()[0] as Record<string, unknown>;
    const holding = (value: unknown) => ({ ...event, [key]: key === 'steps' ? [value] : value });
    expect(isEvent(holding(held))).toBe(true);
    expect(isEvent(holding({ ...held, more: 'x' }))).toBe(false);
    for (const each of Object.keys(held)) expect(isEvent(holding(without(held, each)))).toBe(false);
  });

  it.each([
    ['outcome', ['done', 'failed', 'canceled'], { event: 'runEnded', at }],
    [
      'outcome',
      ['done', 'failed', 'notReady', 'canceled', 'skipped'],
      { event: 'resourceEnded', at, address: 'vm.web' },
    ],
    ['level', ['info', 'warn'], { event: 'note', at, text: 'x' }],
    ['lost', [true], { event: 'stepFailed', at, step, code: 'C', detail: 'd' }],
  ])('must be one of the known words for %s', (key, words, event) => {
    for (const word of words) expect(isEvent({ ...event, [key]: word })).toBe(true);
    for (const word of ['', 'other', false]) expect(isEvent({ ...event, [key]: word })).toBe(false);
  });
});
