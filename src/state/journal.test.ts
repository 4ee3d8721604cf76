import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import { KnownSecrets, Secret } from '../base/secret.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { JOURNAL_FORMAT } from './events.ts';
import {
  closeRun,
  isUnfinished,
  JournalWriter,
  listRuns,
  type NewEvent,
  pruneRuns,
  readRun,
  readRuns,
  runsSince,
  unfinishedRuns,
} from './journal.ts';
import { MemoryStore } from './memory-store.ts';

const START = {
  event: 'runStarted',
  format: JOURNAL_FORMAT,
  runId: '20260101-a',
  command: 'apply',
  who: 'operator',
} as const satisfies NewEvent;
const note = (text: string) => ({ event: 'note', level: 'info', text }) as const satisfies NewEvent;
const FILE = 'runs/20260101-a.jsonl';
const NOTE_LINE = '{"event":"note","at":"2026-01-01T00:00:00.000Z","level":"info","text":"one"}';

async function journalOf(...texts: string[]) {
  const store = new MemoryStore();
  const writer = new JournalWriter(store, new VirtualClock(), '20260101-a');
  await writer.write(START);
  for (const text of texts) await writer.write(note(text));
  return { store, writer, text: (await store.read(FILE)) ?? '' };
}

/** A store whose disk is full from the n-th line on: part of that line is still written. */
class FullDisk extends MemoryStore {
  lines = 0;
  fullAt: number;

  constructor(fullAt: number) {
    super();
    this.fullAt = fullAt;
  }

  override async append(name: string, line: string): Promise<void> {
    if (++this.lines !== this.fullAt) return super.append(name, line);
    await this.write(name, `${(await this.read(name)) ?? ''}${line.slice(0, 10)}`);
    throw new ProxwrightError({ code: 'STATE_UNWRITABLE', detail: 'ENOSPC' });
  }
}

describe('a journal', () => {
  it('contains no secret and no control character that a server repeated', async () => {
    const store = new MemoryStore();
    const secrets = new KnownSecrets([new Secret('hunter22')]);
    const writer = new JournalWriter(store, new VirtualClock(), '20260101-a', [], secrets);
    const said = 'it says \u009b31m hunter22';
    await writer.write(START);
    await writer.write({ event: 'note', level: 'warn', address: 'vm.web', text: said });
    await writer.write({ ...note('locked'), wait: { ms: 2000, code: 'GUEST_LOCKED', said } });
    await writer.write({ event: 'stepStarted', step: 's', address: 'vm.web', action: 'vm.clone' });
    const hook = { event: 'hook', step: 's', address: 'vm.web', group: 'vm.web', moment: 'before_stop' } as const;
    await writer.write({ ...hook, status: 'started' });
    await writer.write({ ...hook, status: 'failed', output: said });
    await writer.write({ event: 'stepFailed', step: 's', code: 'TASK_FAILED', detail: said });
    await writer.write({ event: 'resourceEnded', address: 'vm.web', outcome: 'failed', problem: { detail: said } });
    const text = await store.read('runs/20260101-a.jsonl');
    expect(text).not.toMatch(/hunter22|\u{9b}/u);
    const { events } = await readRun(store, '20260101-a');
    expect(events[1]).toMatchObject({ text: 'it says \u009b31m •••' });
    expect(events[1]).not.toHaveProperty('wait');
    const wait = { ms: 2000, code: 'GUEST_LOCKED', said: 'it says \u009b31m •••' };
    expect(events[2]).toMatchObject({ text: 'locked', wait });
    expect(events[4]).not.toHaveProperty('output');
    expect(events[5]).toMatchObject({ output: 'it says \u009b31m •••' });
    expect(events[6]).toMatchObject({ detail: 'it says \u009b31m •••' });
    expect(events[7]).toMatchObject({ problem: { detail: 'it says \u009b31m •••' } });
  });

  it('has one line per event, with its time', async () => {
    const { store, text } = await journalOf('one', 'two\nlines');
    expect(text.split('\n')).toHaveLength(4);
    expect((await readRun(store, '20260101-a')).events).toEqual([
      { ...START, at: '2026-01-01T00:00:00.000Z' },
      { event: 'note', at: '2026-01-01T00:00:00.000Z', level: 'info', text: 'one' },
      { event: 'note', at: '2026-01-01T00:00:00.000Z', level: 'info', text: 'two\nlines' },
    ]);
  });

  it('keeps the order of the calls, even without awaiting each one', async () => {
    const { store, writer } = await journalOf();
    await Promise.all(['a', 'b', 'c', 'd'].map((text) => writer.write(note(text))));
    const { events } = await readRun(store, '20260101-a');
    expect(events.flatMap((event) => (event.event === 'note' ? [event.text] : []))).toEqual(['a', 'b', 'c', 'd']);
    expect(writer.events).toEqual(events);
  });

  it('ignores a partial last line, wherever it ends', async () => {
    const { store, text } = await journalOf('one', 'two');
    const secondEnd = text.indexOf('\n', text.indexOf('\n') + 1) + 1;
    for (let cut = secondEnd; cut < text.length - 1; cut++) {
      await store.write(FILE, text.slice(0, cut));
      expect((await readRun(store, '20260101-a')).events).toHaveLength(2);
    }
  });

  it.each([
    ['torn', '{"event":"note","at":"20'],
    ['no event', '{"event":"party","at":"2026-01-01T00:00:00.000Z"}'],
    ['no object', '42'],
  ])('is damaged when a line in the middle is %s', async (_name, bad) => {
    const { store, text } = await journalOf('one');
    await store.write(FILE, `${text}${bad}\n${NOTE_LINE}\n`);
    await expect(readRun(store, '20260101-a')).rejects.toMatchObject({
      code: 'STATE_DAMAGED',
      diagnostic: { where: { file: FILE, line: 3 } },
    });
  });

  it('of format 1 is damaged by the same lines', async () => {
    const { store } = await journalOf();
    await store.write(FILE, `${NOTE_LINE}\n{"event":"party"}\n${NOTE_LINE}\n`);
    await expect(readRun(store, '20260101-a')).rejects.toMatchObject({
      code: 'STATE_DAMAGED',
      diagnostic: { where: { file: FILE, line: 2 } },
    });
  });

  it('is damaged when a line cannot follow the ones before it, and the error says why', async () => {
    const { store, text } = await journalOf('one');
    const done = '{"event":"stepDone","at":"2026-01-01T00:00:00.000Z","step":"vm.web/clone"}';
    await store.write(FILE, `${text}${done}\n`);
    await expect(readRun(store, '20260101-a')).rejects.toMatchObject({
      code: 'STATE_DAMAGED',
      diagnostic: {
        where: { file: FILE, line: 3 },
        detail: expect.stringContaining('stepDone of vm.web/clone, which was not started'),
      },
    });
  });

  it('rejects an impossible event, and stays unchanged', async () => {
    const { store, writer, text } = await journalOf('one');
    const refused = writer.write({ event: 'taskAttached', step: 'vm.web/clone', upid: 'UPID:1' });
    await expect(refused).rejects.toMatchObject({ family: 'bug' });
    await expect(refused).rejects.toThrow('taskAttached of vm.web/clone, which was not started');
    expect(await store.read(FILE)).toBe(text);
    await writer.write(note('two'));
    expect((await readRun(store, '20260101-a')).events).toHaveLength(3);
  });

  it('is unfinished if its last event is not its end', async () => {
    const { store, writer } = await journalOf();
    const names = async () => (await unfinishedRuns(store)).map(({ runId }) => runId);
    expect(await names()).toEqual(['20260101-a']);
    await writer.write({ event: 'runEnded', outcome: 'done' });
    expect(await names()).toEqual([]);
  });

  it('knows the steps of an earlier run that it is opened with', async () => {
    const { store, writer } = await journalOf();
    await writer.write({ event: 'stepStarted', step: 'vm.web/clone', address: 'vm.web', action: 'vm.clone' });
    const { events } = await readRun(store, '20260101-a');
    const later = new JournalWriter(store, new VirtualClock(), '20260101-a', events);
    await later.write({ event: 'stepFailed', step: 'vm.web/clone', code: 'CANCELED', detail: 'Forgotten.' });
    await expect(later.write({ event: 'stepDone', step: 'vm.web/clone' })).rejects.toThrow('which has ended');
  });

  it('is damaged if a bad line is complete, even as the last one or before a partial one', async () => {
    const { store, text } = await journalOf('one');
    await store.write(FILE, `${text}{"event":\n`);
    await expect(readRun(store, '20260101-a')).rejects.toMatchObject({ code: 'STATE_DAMAGED' });
    await store.write(FILE, `${text}{"event":\n{"ev`);
    await expect(readRun(store, '20260101-a')).rejects.toMatchObject({ code: 'STATE_DAMAGED' });
  });

  it('accepts nothing after a line could not be written, so a partial line stays the last', async () => {
    const store = new FullDisk(3);
    const writer = new JournalWriter(store, new VirtualClock(), '20260101-a');
    await writer.write(START);
    await writer.write(note('one'));
    await expect(writer.write(note('two'))).rejects.toMatchObject({ code: 'STATE_UNWRITABLE' });
    await expect(writer.write(note('three'))).rejects.toMatchObject({ code: 'STATE_UNWRITABLE' });
    const { events } = await readRun(store, '20260101-a');
    expect(events).toHaveLength(2);
    expect(writer.events).toEqual(events);
  });

  it('hands lines that follow a failed one to the outbox, but not the end of the run', async () => {
    const store = new FullDisk(2);
    const kept: string[] = [];
    const keep = async (_name: string, line: string) => void kept.push(line);
    Object.assign(store, { outbox: { keep } });
    const writer = new JournalWriter(store, new VirtualClock(), '20260101-a');
    await writer.write(START);
    await expect(writer.write(note('lost'))).rejects.toMatchObject({ code: 'STATE_UNWRITABLE' });
    await expect(writer.write(note('kept'))).rejects.toMatchObject({ code: 'STATE_UNWRITABLE' });
    await expect(writer.write({ event: 'runEnded', outcome: 'failed' })).rejects.toMatchObject({
      code: 'STATE_UNWRITABLE',
    });
    expect(kept.map((line) => JSON.parse(line))).toMatchObject([{ event: 'note', text: 'kept' }]);
  });

  it('is closed without the partial line, so that it stays readable', async () => {
    const { store, text } = await journalOf('one');
    await store.write(FILE, `${text}{"ev`);
    await closeRun(store, new VirtualClock(), '20260101-a');
    const { events } = await readRun(store, '20260101-a');
    expect(events.map(({ event }) => event)).toEqual(['runStarted', 'note', 'runEnded']);
  });

  it('is empty for a run that never wrote anything', async () => {
    expect(await readRun(new MemoryStore(), '20260101-a')).toEqual({ runId: '20260101-a', events: [] });
  });

  it('is listed with those of earlier runs, oldest first, without other documents', async () => {
    const { store } = await journalOf('one');
    await store.append('runs/20251231-z.jsonl', '{}');
    await store.write('runs/20260101-a.metrics', '');
    await store.write('state.json', '{}');
    expect(await listRuns(store)).toEqual(['20251231-z', '20260101-a']);
  });

  it('is closed even if nothing was written yet, and can be read with the others', async () => {
    const { store } = await journalOf('one');
    expect((await unfinishedRuns(store)).map(({ runId }) => runId)).toEqual(['20260101-a']);
    await closeRun(store, new VirtualClock(), '20260102-b');
    expect((await readRuns(store)).map(({ runId }) => runId)).toEqual(['20260101-a', '20260102-b']);
    expect((await unfinishedRuns(store)).map(({ runId }) => runId)).toEqual(['20260101-a']);
    await closeRun(store, new VirtualClock(), '20260101-a');
    expect(await unfinishedRuns(store)).toEqual([]);
    const { events } = await readRun(store, '20260101-a');
    expect(events.at(-1)).toEqual({ event: 'runEnded', at: '2026-01-01T00:00:00.000Z', outcome: 'failed' });
  });

  it('may have empty lines', async () => {
    const { store, text } = await journalOf('one');
    await store.write(FILE, `${text}\n\n`);
    expect((await readRun(store, '20260101-a')).events).toHaveLength(2);
  });
});

describe('the journals of old runs', () => {
  /** `-` for a run that has not ended. */
  async function storeWith(...runs: readonly string[]): Promise<MemoryStore> {
    const store = new MemoryStore();
    for (const name of runs) {
      const runId = name.replace('-', '');
      const writer = new JournalWriter(store, new VirtualClock(), runId);
      await writer.write({ event: 'runStarted', format: JOURNAL_FORMAT, runId, command: 'apply', who: 'operator' });
      if (runId === name) await writer.write({ event: 'runEnded', outcome: 'done' });
    }
    return store;
  }

  it('are removed beyond the number to keep, the oldest first', async () => {
    const store = await storeWith('a', 'b', 'c', 'd');
    await pruneRuns(store, 3, silentLogger);
    expect(await listRuns(store)).toEqual(['b', 'c', 'd']);
    await pruneRuns(store, undefined, silentLogger);
    expect(await listRuns(store)).toEqual(['b', 'c', 'd']);
  });

  it('are removed fifty at a time, so that a long history does not delay the end of a run', async () => {
    const names = Array.from({ length: 54 }, (_, index) => `r${100 + index}`);
    const store = await storeWith(...names);
    await pruneRuns(store, 3, silentLogger);
    expect(await listRuns(store)).toEqual(names.slice(50));
    await pruneRuns(store, 3, silentLogger);
    expect(await listRuns(store)).toEqual(names.slice(51));
  });

  it('are all kept as long as there are fewer than the number to keep', async () => {
    const store = await storeWith('a', 'b');
    await pruneRuns(store, 3, silentLogger);
    expect(await listRuns(store)).toEqual(['a', 'b']);
  });

  it('stay as long as the run has not ended, whatever its age', async () => {
    const store = await storeWith('-a', 'b', 'c', '-d');
    await pruneRuns(store, 1, silentLogger);
    expect(await listRuns(store)).toEqual(['a', 'd']);
  });

  it('stay if they cannot be read, or end in a partial line', async () => {
    const store = await storeWith('a', 'b', 'c');
    await store.write('runs/a.jsonl', 'not a journal\n');
    await store.write('runs/b.jsonl', `${(await store.read('runs/b.jsonl'))?.slice(0, -20)}`);
    await pruneRuns(store, 0, silentLogger);
    expect(await listRuns(store)).toEqual(['a', 'b']);
  });

  it('do not fail a successful run if they cannot be removed', async () => {
    const store = await storeWith('a', 'b');
    store.remove = () => Promise.reject(new ProxwrightError({ code: 'STATE_UNWRITABLE', detail: 'read-only' }));
    const said: string[] = [];
    await pruneRuns(store, 1, { ...silentLogger, log: (_level, message) => said.push(message) });
    expect(said).toEqual(['The journals of old runs could not be removed: read-only']);
  });
});

const NOON = Date.parse('2026-01-01T12:00:00.250Z');

describe('the runs since a moment', () => {
  async function storeWith(...runs: readonly (readonly [id: string, source?: object])[]) {
    const store = new MemoryStore();
    for (const [runId, source] of runs) {
      const writer = new JournalWriter(store, new VirtualClock(), runId);
      await writer.write({ ...START, runId, ...source });
    }
    return store;
  }
  const here = { host: 'laptop', commandLine: 'proxwright apply' };

  it('are named with their command and user, the last three only', async () => {
    const store = await storeWith(
      ['20260101T115959Z-aaaaaa'],
      ['20260101T120000Z-bbbbbb'],
      ['20260101T120001Z-cccccc', { source: here }],
      ['20260101T120002Z-dddddd', { source: { ...here, ci: { system: 'GitHub', user: 'alice' } } }],
    );
    const names = [
      '20260101T120000Z-bbbbbb (apply by operator)',
      '20260101T120001Z-cccccc (apply by operator)',
      '20260101T120002Z-dddddd (apply by alice)',
    ];
    expect(await runsSince(store, NOON)).toEqual(names);
    expect(await runsSince(store, NOON - 3_600_000)).toEqual(names);
    expect(await runsSince(store, NOON + 3_600_000)).toEqual([]);
  });

  it('are named by their id alone if the journal has no beginning', async () => {
    const store = new MemoryStore();
    await store.write('runs/20260101T120000Z-bbbbbb.jsonl', '');
    expect(await runsSince(store, NOON)).toEqual(['20260101T120000Z-bbbbbb']);
    expect(await unfinishedRuns(store)).toMatchObject([{ runId: '20260101T120000Z-bbbbbb', events: [] }]);
  });
});

describe('isUnfinished', () => {
  it('is false for other documents, true without an end and for an empty journal', async () => {
    const { text } = await journalOf('one');
    expect(isUnfinished('state.json', text)).toBe(false);
    expect(isUnfinished(FILE, text)).toBe(true);
    expect(isUnfinished(FILE, '')).toBe(true);
  });
});
