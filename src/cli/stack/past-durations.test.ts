import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { JOURNAL_FORMAT } from '../../state/events.ts';
import { JournalWriter } from '../../state/journal.ts';
import { MemoryStore } from '../../state/memory-store.ts';
import { pastDurations } from './run.ts';

async function journal(store: MemoryStore, runId: string, cloneMs: number): Promise<void> {
  const clock = new VirtualClock();
  const writer = new JournalWriter(store, clock, runId);
  const step = 'vm.web/clone';
  await clock.run(async () => {
    await writer.write({ event: 'runStarted', format: JOURNAL_FORMAT, runId, command: 'apply', who: 'operator' });
    await writer.write({ event: 'stepStarted', step, address: 'vm.web', action: 'vm.clone' });
    await clock.sleep(cloneMs / 2);
    await writer.write({ event: 'intended', step, intent: { vmid: 401 } });
    await clock.sleep(cloneMs / 2);
    await writer.write({ event: 'stepDone', step });
    await writer.write({ event: 'stepStarted', step: 'vm.web/start', address: 'vm.web', action: 'vm.start' });
    await writer.write({ event: 'stepFailed', step: 'vm.web/start', code: 'TASK_FAILED', detail: '' });
  });
}

describe('the durations of earlier runs', () => {
  it('are counted per stage from the start of a step to its successful end, for the last five runs', async () => {
    const store = new MemoryStore();
    for (const number of [1, 2, 3, 4, 5, 6]) await journal(store, `run-${number}`, number * 1000);
    expect(await pastDurations(store)).toEqual(new Map([['clone', [2000, 3000, 4000, 5000, 6000]]]));
  });

  it('are empty if a journal is damaged: a display must not stop a run', async () => {
    const store = new MemoryStore();
    await store.append('runs/run-1.jsonl', 'not an event');
    await store.append('runs/run-1.jsonl', 'nor this');
    expect(await pastDurations(store)).toEqual(new Map());
  });
});
