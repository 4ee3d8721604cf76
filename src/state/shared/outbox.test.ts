import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../base/errors.ts';
import { VirtualClock } from '../../base/virtual-clock.ts';
import { emptyState } from '../../kinds/recorded.ts';
import { JournalWriter, nameOfJournal, pruneRuns, readRun, unfinishedRuns } from '../journal.ts';
import { MemoryStore } from '../memory-store.ts';
import { writeState } from '../state-file.ts';
import type { StateStore, StoreLock } from '../store.ts';
import { owner } from '../testing/conformance.ts';
import { OutboxStore } from './outbox.ts';

const RUN = '20260101T000000Z-000001';

/** A shared store that can stop answering; its lock has an epoch. */
class Remote extends MemoryStore {
  isDown = false;
  /** This many lines are still accepted. */
  takes = Number.POSITIVE_INFINITY;
  epoch = 0;

  override async read(name: string): Promise<string | undefined> {
    if (this.isDown) throw gone();
    return super.read(name);
  }

  override async append(name: string, line: string): Promise<void> {
    if (this.isDown || this.takes-- <= 0) throw gone();
    await super.append(name, line);
  }

  override async lock(...given: Parameters<StateStore['lock']>): Promise<StoreLock> {
    const lock = await super.lock(...given);
    return { ...lock, epoch: ++this.epoch };
  }
}

const gone = () => new ProxwrightError({ code: 'STATE_UNREACHABLE', detail: 'It does not answer.' });

async function scene({ lineage = 'one' } = {}) {
  const [remote, local] = [new Remote(), new MemoryStore()];
  const store = new OutboxStore(remote, local);
  const lock = await store.lock(owner(RUN));
  await writeState(store, { ...emptyState('lab'), lineage });
  const clock = new VirtualClock();
  const journal = new JournalWriter(store, clock, RUN);
  await journal.write({ event: 'runStarted', format: 2, runId: RUN, command: 'apply', who: 'tester' });
  return { remote, local, store, lock, journal, clock };
}

/** The store is lost in the middle of a step whose task runs. */
async function lost() {
  const all = await scene();
  const { remote, journal, lock } = all;
  await journal.write({ event: 'stepStarted', step: 'vm.web/clone', address: 'vm.web', action: 'vm.clone' });
  remote.isDown = true;
  const error: unknown = await journal
    .write({ event: 'taskAttached', step: 'vm.web/clone', upid: 'UPID:one' })
    .catch((each: unknown) => each);
  await expect(journal.write({ event: 'note', level: 'info', text: 'later' })).rejects.toThrow();
  await expect(journal.write({ event: 'runEnded', outcome: 'failed' })).rejects.toThrow();
  await lock.release();
  remote.isDown = false;
  return { ...all, error };
}

const kinds = async (store: StateStore) => (await readRun(store, RUN)).events.map(({ event }) => event);
const WHOLE = ['runStarted', 'stepStarted', 'taskAttached', 'note'];

describe('a run that loses its store', () => {
  it('says where it keeps its events, and does not count as ended', async () => {
    const { error, store, remote, local } = await lost();
    expect(error).toMatchObject({ code: 'STATE_UNREACHABLE', message: expect.stringContaining(`outbox/${RUN}.jsonl`) });
    expect(await store.outbox.unsent()).toEqual([{ runId: RUN, events: 2, place: `outbox/${RUN}.jsonl` }]);
    expect(await kinds(remote)).toEqual(['runStarted', 'stepStarted']);
    expect(await unfinishedRuns(store)).toHaveLength(1);
    expect(await local.list()).toEqual([`outbox/${RUN}.jsonl`]);
  });

  it('says where it keeps its events also if the last error is that of saving the state', async () => {
    const { store, remote, journal } = await scene();
    remote.isDown = true;
    await expect(journal.write({ event: 'note', level: 'info', text: 'lost' })).rejects.toThrow();
    await expect(writeState(store, emptyState('lab'))).rejects.toThrow(`outbox/${RUN}.jsonl`);
    const logged: string[] = [];
    await pruneRuns(store, 0, { log: (_, text) => logged.push(text) });
    expect(logged).toEqual([]);
  });

  it('is known in full to read-only commands of this machine', async () => {
    const { store, remote } = await lost();
    expect(await kinds(store)).toEqual(WHOLE);
    expect(await kinds(remote)).toEqual(['runStarted', 'stepStarted']);
  });

  it('is listed even if the store has nothing of it', async () => {
    const { store, remote } = await lost();
    const name = nameOfJournal('20260101T000000Z-000002');
    remote.isDown = true;
    await expect(store.append(name, '{}')).rejects.toThrow();
    remote.isDown = false;
    expect(await remote.list('runs/')).not.toContain(name);
    expect(await store.list('runs/')).toContain(name);
  });
});

describe('the next run of the same machine', () => {
  it('sends the kept events once, before it does anything else', async () => {
    const { store, remote, local } = await lost();
    const lock = await store.lock(owner('two'));
    expect(lock.delivered).toEqual([{ runId: RUN, events: 2, end: 'sent' }]);
    expect(await kinds(remote)).toEqual(WHOLE);
    expect(await local.list()).toEqual([]);
    await lock.release();
    expect((await store.lock(owner('three'))).delivered).toBeUndefined();
    expect(await kinds(remote)).toEqual(WHOLE);
  });

  it('sends no line twice if its answer was lost, or if a delivery died halfway', async () => {
    const { store, remote } = await lost();
    remote.takes = 1;
    await expect(store.lock(owner('two'))).rejects.toMatchObject({ code: 'STATE_UNREACHABLE' });
    expect(await remote.holder()).toBeUndefined();
    expect(await kinds(remote)).toEqual(WHOLE.slice(0, 3));
    remote.takes = Number.POSITIVE_INFINITY;
    await store.lock(owner('three'));
    expect(await kinds(remote)).toEqual(WHOLE);
  });

  it('drops the kept events if another machine has resumed that run', async () => {
    const { store, remote, local, clock } = await lost();
    await new JournalWriter(remote, clock, RUN, (await readRun(remote, RUN)).events).write({
      event: 'runEnded',
      outcome: 'failed',
    });
    expect((await store.lock(owner('two'))).delivered).toEqual([{ runId: RUN, events: 2, end: 'superseded' }]);
    expect(await kinds(remote)).toEqual(['runStarted', 'stepStarted', 'runEnded']);
    expect(await local.list()).toEqual([]);
  });

  it.each<[string, (remote: Remote) => Promise<void>, string]>([
    [
      'another state',
      async (remote) => void (await writeState(remote, { ...emptyState('lab'), lineage: 'two', serial: 9 })),
      'the store has another state now',
    ],
    ['an older one', async (remote) => remote.write(nameOfJournal(RUN), ''), 'the store is older than they are'],
    [
      'a lock with an older epoch',
      async (remote) => {
        remote.epoch = 0;
      },
      'the store is older than they are',
    ],
    [
      'lines of another writer',
      async (remote) => remote.append(nameOfJournal(RUN), '{"event":"note"}'),
      'another run wrote to the same journal',
    ],
  ])('sets the kept events aside if the store has %s', async (_what, change, why) => {
    const { store, remote, local } = await lost();
    await change(remote);
    const before = await remote.read(nameOfJournal(RUN));
    const place = `set-aside/${RUN}.jsonl`;
    expect((await store.lock(owner('two'))).delivered).toEqual([
      { runId: RUN, events: 2, end: 'set aside', why, place },
    ]);
    expect(await remote.read(nameOfJournal(RUN))).toBe(before);
    expect(await local.list()).toEqual([place]);
  });

  it('leaves out a line that was being kept when the process was killed', async () => {
    const { store, remote, local } = await lost();
    const file = `outbox/${RUN}.jsonl`;
    await local.write(file, `${await local.read(file)}{"event":"no`);
    await store.lock(owner('two'));
    expect(await kinds(remote)).toEqual(WHOLE);
  });
});
