import { describe, expect, it } from 'vitest';
import { seededRandom } from '../base/random.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { emptyState } from '../kinds/recorded.ts';
import type { VmRecord } from '../kinds/vm/record.ts';
import { JOURNAL_FORMAT } from '../state/events.ts';
import { JournalWriter, listRuns, readRun } from '../state/journal.ts';
import { MemoryStore } from '../state/memory-store.ts';
import { listBackups, readState, tombstone, writeState } from '../state/state-file.ts';
import { describeRun } from './record/run-record.ts';
import { type EditDeps, forgetAddress, moveAddress, replaceState } from './state-edit.ts';

const VM: VmRecord = {
  vmid: 401,
  uuid: 'u-1',
  node: 'pve1',
  name: 'web',
  phase: 'complete',
  lastApplied: { memory: '8GiB' },
  secrets: {},
  macs: {},
  addresses: {},
};

async function scene(): Promise<EditDeps & { readonly store: MemoryStore; readonly clock: VirtualClock }> {
  const store = new MemoryStore();
  await writeState(store, { ...emptyState('lab'), vms: { 'vm.web': VM, 'vm.db': { ...VM, vmid: 402 } } });
  const owner = { who: 'operator', host: 'here', pid: 1, command: 'state mv' };
  return { store, clock: new VirtualClock(), random: seededRandom(1), stackName: 'lab', owner };
}

async function leaveUnfinishedRun({ store, clock }: Awaited<ReturnType<typeof scene>>): Promise<void> {
  const runId = '20250101T000000Z-dead';
  const step = 'vm.web/configure';
  const journal = new JournalWriter(store, clock, runId);
  await journal.write({ event: 'runStarted', format: JOURNAL_FORMAT, runId, command: 'apply', who: 'operator' });
  await journal.write({ event: 'stepStarted', step, address: 'vm.web', action: 'vm.configure' });
  await journal.write({
    event: 'intended',
    step,
    intent: { vmid: 401 },
    patch: { address: 'vm.web', vm: { phase: 'incomplete' } },
  });
}

describe('moving an address', () => {
  it('keeps the recorded values, a backup of the state, and a journal', async () => {
    const deps = await scene();
    await moveAddress(deps, 'vm.web', 'vm.site[1]');
    const { vms, serial } = await readState(deps.store, 'lab');
    expect(vms).toEqual({ 'vm.site[1]': VM, 'vm.db': { ...VM, vmid: 402 } });
    expect(serial).toBe(2);
    expect(await listBackups(deps.store)).toHaveLength(1);
    const [runId = ''] = await listRuns(deps.store);
    expect(describeRun(await readRun(deps.store, runId))).toMatchObject({ command: 'state mv', outcome: 'done' });
  });

  it('rejects an unknown or taken address without changes', async () => {
    const deps = await scene();
    await expect(moveAddress(deps, 'vm.wed', 'vm.site')).rejects.toMatchObject({
      code: 'MISSING_REFERENCE',
      diagnostic: { hint: { text: "Did you mean 'vm.web'?" } },
    });
    await expect(moveAddress(deps, 'vm.web', 'vm.db')).rejects.toMatchObject({ code: 'BAD_VALUE' });
    expect((await readState(deps.store, 'lab')).serial).toBe(1);
  });

  it('is rejected until an unfinished run is resumed, because its journal would undo the move', async () => {
    const deps = await scene();
    await leaveUnfinishedRun(deps);
    await expect(moveAddress(deps, 'vm.web', 'vm.site')).rejects.toMatchObject({ code: 'STATE_LOCKED' });
  });

  it('is rejected during a run, and releases the lock', async () => {
    const deps = await scene();
    const lock = await deps.store.lock({ ...deps.owner, runId: 'other', since: 'now' });
    await expect(moveAddress(deps, 'vm.web', 'vm.site')).rejects.toMatchObject({ code: 'STATE_LOCKED' });
    await lock.release();
    await moveAddress(deps, 'vm.web', 'vm.site');
    await (await deps.store.lock({ ...deps.owner, runId: 'next', since: 'now' })).release();
  });
});

describe('forgetting an address', () => {
  it('removes it from the state and from an unfinished run', async () => {
    const deps = await scene();
    await leaveUnfinishedRun(deps);
    expect(await forgetAddress(deps, 'vm.web')).toEqual(VM);
    expect(Object.keys((await readState(deps.store, 'lab')).vms)).toEqual(['vm.db']);
    const { events } = await readRun(deps.store, '20250101T000000Z-dead');
    expect(events.slice(3)).toMatchObject([
      { event: 'stepFailed', step: 'vm.web/configure', code: 'CANCELED' },
      { event: 'stepStarted', address: 'vm.web', action: 'state.edit' },
      { event: 'learned', patch: { address: 'vm.web', vm: null } },
      { event: 'stepDone' },
    ]);
  });

  it('rejects an unknown address', async () => {
    await expect(forgetAddress(await scene(), 'vm.nobody')).rejects.toMatchObject({ code: 'MISSING_REFERENCE' });
  });
});

describe('replacing the state', () => {
  it('increments the serial, and keeps a backup even of a damaged state', async () => {
    const deps = await scene();
    await deps.store.write('state.json', '{"version": 1, "sta');
    await replaceState(deps, { ...emptyState('lab'), serial: 7, vms: { 'vm.web': VM } });
    expect(await readState(deps.store, 'lab')).toMatchObject({ serial: 8, vms: { 'vm.web': VM } });
    expect(await listBackups(deps.store)).toHaveLength(1);
  });

  it('stops if the state was moved to another store after the user was asked', async () => {
    const deps = await scene();
    const left = tombstone('s3://elsewhere/state.json', '2026-01-01T00:00:00.000Z', undefined);
    await deps.store.write('state.json', left);
    const restored = { ...emptyState('lab'), lineage: 'l-1', serial: 7, vms: { 'vm.web': VM } };
    await expect(replaceState(deps, restored)).rejects.toMatchObject({ code: 'STATE_MOVED' });
    expect(await deps.store.read('state.json')).toBe(left);
  });
});
