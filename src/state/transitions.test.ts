import { describe, expect, it } from 'vitest';
import { JOURNAL_FORMAT, type RunEvent } from './events.ts';
import { Transitions } from './transitions.ts';

const at = '2026-01-01T00:00:00.000Z';
const STEP = 'vm.web/clone';
const start: RunEvent = { event: 'runStarted', at, format: JOURNAL_FORMAT, runId: 'r', command: 'apply', who: 'ops' };
const planned: RunEvent = { event: 'planned', at, steps: [] };
const note: RunEvent = { event: 'note', at, level: 'info', text: 'slow' };
const started: RunEvent = { event: 'stepStarted', at, step: STEP, address: 'vm.web', action: 'vm.clone' };
const intended: RunEvent = { event: 'intended', at, step: STEP, intent: {} };
const attached: RunEvent = { event: 'taskAttached', at, step: STEP, upid: 'UPID:1' };
const learned: RunEvent = { event: 'learned', at, step: STEP, patch: { address: 'vm.web', vm: {} } };
const learnedFile: RunEvent = { event: 'learnedFile', at, step: STEP, patch: { key: 'k', file: null } };
const moved: RunEvent = { event: 'moved', at, step: STEP, from: 'vm.old', to: 'vm.web' };
const done: RunEvent = { event: 'stepDone', at, step: STEP };
const failed: RunEvent = { event: 'stepFailed', at, step: STEP, code: 'TASK_FAILED', detail: 'no' };
const lost: RunEvent = { ...failed, lost: true };
const resourceEnded: RunEvent = { event: 'resourceEnded', at, address: 'vm.web', outcome: 'done' };
const ended = (outcome: 'done' | 'failed'): RunEvent => ({ event: 'runEnded', at, outcome });

/** Undefined if all events are possible; otherwise why the first impossible one is. */
function problemOf(events: readonly RunEvent[]): string | undefined {
  const transitions = new Transitions();
  for (const event of events) {
    const problem = transitions.accept(event);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

describe('the events of a run', () => {
  it.each<[string, RunEvent[]]>([
    ['a run that does nothing', [start, planned, ended('done')]],
    [
      'a step with everything it can record',
      [start, planned, started, intended, attached, learned, learnedFile, moved, done, resourceEnded, ended('done')],
    ],
    ['a step that asks twice', [start, started, intended, attached, intended, attached, attached, done, ended('done')]],
    ['a step that failed', [start, started, intended, failed, resourceEnded, ended('failed')]],
    ['a step that was lost, and later given up', [start, started, lost, failed, ended('failed')]],
    ['a run that was closed with a step left open', [start, started, ended('failed')]],
    ['notes anywhere in between', [start, note, started, note, done, note, ended('done')]],
    [
      'a second plan that repeats a step and a resource',
      [start, planned, started, failed, resourceEnded, planned, started, done, resourceEnded, ended('done')],
    ],

    ['a second plan that repeats a lost step', [start, planned, started, lost, planned, started, done, ended('done')]],
  ])('accept %s', (_name, events) => {
    expect(problemOf(events)).toBeUndefined();
  });

  it.each<[string, RunEvent[]]>([
    ['note before the start of the run', [note]],
    ['stepStarted before the start of the run', [started]],
    ['runEnded before the start of the run', [ended('failed')]],
    ['a second start of the run', [start, start]],
    ['runStarted after the end of the run', [start, ended('done'), start]],
    ['note after the end of the run', [start, ended('done'), note]],
    ['planned after the end of the run', [start, planned, ended('done'), planned]],
    ['stepStarted after the end of the run', [start, ended('done'), started]],
    ['runEnded after the end of the run', [start, ended('done'), ended('done')]],
    ['a successful end of the run while vm.web/clone is open', [start, started, ended('done')]],
    ['a successful end of the run while vm.web/clone is open', [start, started, lost, ended('done')]],
    ['a second start of vm.web/clone', [start, started, started]],
    ['a second start of vm.web/clone', [start, started, done, started]],
    ['a second start of vm.web/clone', [start, started, lost, started]],
    ['a second start of vm.web/clone', [start, started, planned, started]],
    ['a step of vm.web, which has ended', [start, resourceEnded, started]],
    ['a second end of vm.web', [start, resourceEnded, resourceEnded]],
  ])('refuse %s', (problem, events) => {
    expect(problemOf(events.slice(0, -1))).toBeUndefined();
    expect(problemOf(events)).toBe(problem);
  });

  describe.each([intended, attached, learned, learnedFile, moved, done, failed])('of which one is $event', (event) => {
    it('refuse it for a step that was not started', () => {
      expect(problemOf([start, event])).toBe(`${event.event} of vm.web/clone, which was not started`);
    });

    it.each([done, failed])('refuse it after $event', (end) => {
      expect(problemOf([start, started, end, event])).toBe(`${event.event} of vm.web/clone, which has ended`);
    });
  });

  it.each([intended, attached, learned, learnedFile, moved, done])('refuse $event of a step that was lost', (event) => {
    expect(problemOf([start, started, lost, event])).toBe(`${event.event} of vm.web/clone, which was lost`);
  });

  it('continue after a rejected one as if it had not been there', () => {
    const transitions = new Transitions();
    expect([start, done, started, started, done].map((event) => transitions.accept(event) === undefined)).toEqual([
      true,
      false,
      true,
      false,
      true,
    ]);
  });
});
