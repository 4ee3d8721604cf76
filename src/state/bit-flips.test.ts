/**
 * Flips every bit of what is read back, once: a damaged file is refused, or it still means what was written. Anything
 * else would be dangerous, because a wrong id or uuid in a state decides which VM is destroyed.
 */
import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../base/errors.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { emptyState, type StackState } from '../kinds/recorded.ts';
import { JOURNAL_FORMAT } from './events.ts';
import { JournalWriter, readRun } from './journal.ts';
import { MemoryStore } from './memory-store.ts';
import { parseState, printState } from './state-file.ts';
import { damagedCopies } from './testing/damage.ts';

const STATE: StackState = {
  ...emptyState('lab'),
  serial: 7,
  vms: {
    'vm.web[1]': {
      vmid: 401,
      uuid: '8f8d2c5e-0f0a-4f4b-9a51-5e9c1b7a2d10',
      node: 'pve1',
      name: 'web-ü',
      phase: 'complete',
      lastApplied: { memory: 4096, 'nics.net0.vlan': null, tags: ['a', 'b'] },
      secrets: { 'cloud_init.password': { salt: '00ff', sha256: 'abcd' } },
      macs: { net0: 'BC:24:11:00:00:01' },
      addresses: { net0: ['10.0.0.5'] },
    },
  },
  files: {
    'pve1/local:iso/a.iso': { address: 'image.a', node: 'pve1', volid: 'local:iso/a.iso', sizeBytes: 12, ctime: 1 },
  },
};

describe('a flipped bit', () => {
  it('of a state or a backup is refused or harmless, wherever it is', () => {
    let refused = 0;
    for (const text of damagedCopies(printState(STATE))) {
      try {
        expect(parseState(text, 'state.json'), text).toEqual(STATE);
      } catch (error) {
        if (!(error instanceof ProxwrightError)) throw error;
        expect(['STATE_DAMAGED', 'STATE_TOO_NEW']).toContain(error.code);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(5_000);
  });

  it('of a journal is refused or harmless, wherever it is', async () => {
    const store = new MemoryStore();
    const writer = new JournalWriter(store, new VirtualClock(), 'run');
    const step = 'vm.web/clone';
    await writer.write({ event: 'runStarted', format: JOURNAL_FORMAT, runId: 'run', command: 'apply', who: 'ada' });
    await writer.write({ event: 'stepStarted', step, address: 'vm.web', action: 'vm.clone' });
    await writer.write({
      event: 'intended',
      step,
      intent: { vmid: 401 },
      patch: { address: 'vm.web', vm: { vmid: 401 } },
    });
    const file = 'runs/run.jsonl';
    const text = (await store.read(file)) ?? '';
    for (const copy of damagedCopies(text)) {
      await store.write(file, copy);
      try {
        expect((await readRun(store, 'run')).events, copy).toEqual(writer.events);
      } catch (error) {
        if (!(error instanceof ProxwrightError)) throw error;
        expect(error.code).toBe('STATE_DAMAGED');
      }
    }
  });
});
