import { describe, expect, it } from 'vitest';
import { emptyState, type StackState } from '../kinds/recorded.ts';
import { eventSchema, foldEvents, JOURNAL_FORMAT, openSteps, type RunEvent } from './events.ts';

const at = '2026-01-01T00:00:00.000Z';
const started = (step: string): RunEvent => ({ event: 'stepStarted', at, step, address: 'vm.web', action: 'vm.clone' });
const intended = (step: string, more: Partial<Extract<RunEvent, { event: 'intended' }>> = {}): RunEvent => ({
  event: 'intended',
  at,
  step,
  intent: { vmid: 401 },
  ...more,
});

const complete: StackState = {
  ...emptyState('lab'),
  vms: {
    'vm.web': {
      vmid: 401,
      uuid: 'u-1',
      node: 'pve1',
      name: 'web',
      phase: 'complete',
      lastApplied: { memory: 8 },
      secrets: {},
      macs: { net0: 'BC:24:11:00:00:01' },
      addresses: { net0: ['10.0.0.5'] },
    },
  },
};

describe('foldEvents', () => {
  it('records a VM as soon as its creation is intended', () => {
    const patch = {
      address: 'vm.web',
      vm: { vmid: 401, node: 'pve1', name: 'web', phase: 'creating', nonce: 'n' },
    } as const;
    expect(foldEvents(emptyState('lab'), [intended('vm.web/clone', { patch })]).vms['vm.web']).toEqual({
      ...patch.vm,
      lastApplied: {},
      secrets: {},
      macs: {},
      addresses: {},
    });
  });

  it('changes only what a patch names, also when the patch comes from a parsed line', () => {
    const event = eventSchema.parse({
      event: 'learned',
      at,
      step: 'vm.web/configure',
      patch: { address: 'vm.web', vm: { node: 'pve2' } },
    });
    expect(foldEvents(complete, [event]).vms['vm.web']).toEqual({ ...complete.vms['vm.web'], node: 'pve2' });
  });

  it('removes a VM that was destroyed, and starts empty when it is created again', () => {
    const gone: RunEvent = { event: 'learned', at, step: 'vm.web/destroy', patch: { address: 'vm.web', vm: null } };
    expect(foldEvents(complete, [gone]).vms).toEqual({});
    const again = intended('vm.web/clone', { patch: { address: 'vm.web', vm: { vmid: 402 } } });
    expect(foldEvents(complete, [gone, again]).vms['vm.web']).toMatchObject({ vmid: 402, macs: {}, phase: 'creating' });
  });

  it('moves a VM to another address in one event, and only once', () => {
    const moved: RunEvent = { event: 'moved', at, step: 'vm.site/take-from', from: 'vm.web', to: 'vm.site' };
    const after = foldEvents(complete, [moved]);
    expect(after.vms).toEqual({ 'vm.site': complete.vms['vm.web'] });
    expect(foldEvents(after, [moved])).toEqual(after);
  });

  it('does not move another VM that has the address when the journal is read again', () => {
    const step = 'vm.web/set-aside';
    const { vmid = 0 } = complete.vms['vm.web'] ?? {};
    const moved: RunEvent = { event: 'moved', at, step, from: 'vm.web', to: 'replaced.web', vmid };
    const made = intended('vm.web/clone', { patch: { address: 'vm.web', vm: { vmid: 402 } } });
    const after = foldEvents(complete, [moved, made]);
    expect([after.vms['replaced.web']?.vmid, after.vms['vm.web']?.vmid]).toEqual([vmid, 402]);
    expect(foldEvents(after, [moved, made])).toEqual(after);
  });

  it('keeps the record at the new address if the old address is not known', () => {
    const moved: RunEvent = { event: 'moved', at, step: 'vm.web/take-from', from: 'vm.gone', to: 'vm.web' };
    expect(foldEvents(complete, [moved])).toEqual(complete);
    expect(foldEvents(complete, [{ ...moved, vmid: 401 }])).toEqual(complete);
  });

  it('is not changed by events about progress', () => {
    const story: RunEvent[] = [
      { event: 'runStarted', at, format: JOURNAL_FORMAT, runId: 'r', command: 'apply', who: 'operator' },
      { event: 'planned', at, steps: [] },
      { event: 'note', at, level: 'warn', address: 'vm.web', text: 'slow' },
      { event: 'stepFailed', at, step: 'vm.web/clone', code: 'TASK_FAILED', detail: 'no' },
      { event: 'runEnded', at, outcome: 'failed' },
    ];
    expect(foldEvents(complete, story)).toEqual(complete);
  });

  it('knows only what the first patch says about a new VM', () => {
    const first = intended('vm.web/clone', { patch: { address: 'vm.web', vm: { vmid: 402 } } });
    expect(foldEvents(emptyState('lab'), [first]).vms['vm.web']).toEqual({
      vmid: 402,
      node: '',
      name: '',
      phase: 'creating',
      lastApplied: {},
      secrets: {},
      macs: {},
      addresses: {},
    });
  });

  it('keeps what a patch leaves undefined', () => {
    const patch = { address: 'vm.web', vm: { uuid: undefined, node: 'pve2' } };
    const { vms } = foldEvents(complete, [{ event: 'learned', at, step: 'vm.web/configure', patch }]);
    expect(vms['vm.web']).toMatchObject({ uuid: 'u-1', node: 'pve2' });
  });

  it('records and removes a file, and changes no other', () => {
    const file = { address: 'image.noble', node: 'pve1', volid: 'local:import/a.qcow2', sizeBytes: 5 };
    const other = { ...file, volid: 'local:import/b.qcow2' };
    const before = { ...complete, files: { other } };
    const learned = (value: typeof file | null): RunEvent => ({
      event: 'learnedFile',
      at,
      step: 'image.noble/fetch',
      patch: { key: 'noble', file: value },
    });
    const known = foldEvents(before, [learned(file)]);
    expect(known).toEqual({ ...complete, files: { other, noble: file } });
    expect(foldEvents(known, [learned(null)])).toEqual(before);
  });
});

describe('the outages of a state', () => {
  const keeps = { vmid: 401, macs: { net0: 'BC:24:11:00:00:01' } };
  const begun: RunEvent = {
    event: 'stepStarted',
    at,
    step: 'vm.web/stop',
    address: 'vm.web',
    action: 'vm.stop',
    outage: { group: 'vm.web', keeps },
  };
  const hook = (moment: 'before_stop' | 'after_ready', status: 'started' | 'done'): RunEvent => ({
    event: 'hook',
    at,
    step: `vm.web/hook ${moment}`,
    address: 'vm.web',
    group: 'vm.web',
    moment,
    status,
  });
  const done = (endsOutageOf?: string): RunEvent => ({
    event: 'stepDone',
    at,
    step: 'vm.web/ready',
    ...(endsOutageOf !== undefined && { endsOutageOf }),
  });
  const outagesAfter = (...events: RunEvent[]) => foldEvents(complete, events).outages;

  it('begin with the step that makes a VM unavailable, and end with the step that says so', () => {
    expect(outagesAfter(begun)).toEqual({ 'vm.web': { group: 'vm.web', since: at, hooks: {}, keeps } });
    expect(outagesAfter(begun, done())).toHaveProperty(['vm.web']);
    expect(outagesAfter(begun, done('vm.other'))).toHaveProperty(['vm.web']);
    expect(outagesAfter(begun, done('vm.web'))).toBeUndefined();
  });

  it('are absent from a state without one, and stay present in a state that has the field', () => {
    expect('outages' in foldEvents(complete, [started('vm.web/clone')])).toBe(false);
    expect(foldEvents({ ...complete, outages: {} }, [done()]).outages).toEqual({});
  });

  it('record each hook with its last status, also one that runs before the outage begins', () => {
    expect(outagesAfter(hook('before_stop', 'started'))).toEqual({
      'vm.web': { group: 'vm.web', since: at, hooks: { before_stop: 'started' } },
    });
    const all = [hook('before_stop', 'started'), hook('before_stop', 'done'), begun, hook('after_ready', 'started')];
    expect(outagesAfter(...all)).toEqual({
      'vm.web': { group: 'vm.web', since: at, hooks: { before_stop: 'done', after_ready: 'started' }, keeps },
    });
  });

  it('continue across runs: the first time and the hooks stay', () => {
    const later: RunEvent = { ...begun, at: '2026-01-02T00:00:00.000Z' };
    expect(outagesAfter(begun, hook('before_stop', 'done'), later)).toEqual({
      'vm.web': { group: 'vm.web', since: at, hooks: { before_stop: 'done' }, keeps },
    });
  });

  it('move with their VM, and only they', () => {
    const moved: RunEvent = { event: 'moved', at, step: 'vm.front/move', from: 'vm.web', to: 'vm.front' };
    expect(Object.keys(outagesAfter(begun, moved) ?? {})).toEqual(['vm.front']);
    expect(outagesAfter(moved)).toBeUndefined();
  });

  it('stay with the new VM when the old one is set aside, and move together with a set-aside VM', () => {
    const move = (from: string, to: string): RunEvent => ({ event: 'moved', at, step: 'vm.web/move', from, to });
    const aside = foldEvents(complete, [begun, move('vm.web', 'replaced.web')]);
    expect(Object.keys(aside.vms)).toEqual(['replaced.web']);
    expect(Object.keys(aside.outages ?? {})).toEqual(['vm.web']);
    const ofReplaced: RunEvent = { ...begun, address: 'replaced.web' };
    const renamed = foldEvents(aside, [ofReplaced, move('replaced.web', 'replaced.site')]);
    expect(Object.keys(renamed.vms)).toEqual(['replaced.site']);
    expect(Object.keys(renamed.outages ?? {}).sort()).toEqual(['replaced.site', 'vm.web']);
  });
});

describe('openSteps', () => {
  it('names a step that lost its server: its request may still take effect', () => {
    const failed = { event: 'stepFailed', at, step: 'vm.web/clone', code: 'UNREACHABLE', detail: 'no' } as const;
    expect(openSteps([started('vm.web/clone'), { ...failed, lost: true }])).toHaveLength(1);
    expect(openSteps([started('vm.web/clone'), failed])).toEqual([]);
  });

  it('gives the intent and the last task of a step that never ended', () => {
    const events: RunEvent[] = [
      started('vm.web/clone'),
      intended('vm.web/clone'),
      { event: 'taskAttached', at, step: 'vm.web/clone', upid: 'first' },
      { event: 'taskAttached', at, step: 'vm.web/clone', upid: 'second' },
    ];
    expect(openSteps(events)).toEqual([
      { step: 'vm.web/clone', address: 'vm.web', action: 'vm.clone', intent: { vmid: 401 }, upid: 'second' },
    ]);
  });

  it('does not name steps that ended, successfully or not', () => {
    const events: RunEvent[] = [
      started('vm.web/clone'),
      { event: 'stepDone', at, step: 'vm.web/clone' },
      started('vm.web/start'),
      { event: 'stepFailed', at, step: 'vm.web/start', code: 'TASK_FAILED', detail: 'no' },
    ];
    expect(openSteps(events)).toEqual([]);
  });

  it('drops the task of an earlier attempt when a step records a new intent', () => {
    const events: RunEvent[] = [
      started('vm.web/clone'),
      intended('vm.web/clone'),
      { event: 'taskAttached', at, step: 'vm.web/clone', upid: 'first' },
      intended('vm.web/clone', { intent: { vmid: 402 } }),
    ];
    expect(openSteps(events)).toMatchObject([{ step: 'vm.web/clone', intent: { vmid: 402 }, upid: undefined }]);
  });

  it('names a step that lost its connection: its request may still take effect', () => {
    const events: RunEvent[] = [
      started('vm.web/clone'),
      intended('vm.web/clone'),
      { event: 'stepFailed', at, step: 'vm.web/clone', code: 'CONNECTION_LOST', detail: 'no', lost: true },
    ];
    expect(openSteps(events)).toMatchObject([{ step: 'vm.web/clone', intent: { vmid: 401 } }]);
  });

  it('ignores a task that is attached to a step that was not started', () => {
    expect(openSteps([{ event: 'taskAttached', at, step: 'vm.web/clone', upid: 'stray' }])).toEqual([]);
  });
});
