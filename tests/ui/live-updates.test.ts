/**
 * The live view of 300 VMs: what each update sends, how large the picture is that it draws, and how often it reads the
 * store. Everything is counted, nothing is timed.
 */
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { testDeps } from '../../src/cli/testing/deps.ts';
import { pageSource } from '../../src/cli/ui/source.ts';
import { describeRun } from '../../src/engine/record/run-record.ts';
import type { RunEvent } from '../../src/state/events.ts';
import { JournalWriter } from '../../src/state/journal.ts';
import { MemoryStore } from '../../src/state/memory-store.ts';
import { type Chart, chartOf } from '../../src/ui/picture/chart.ts';
import { foldedChart } from '../../src/ui/picture/folded.ts';
import { drawTimeline } from '../../src/ui/picture/timeline.ts';
import { type ReceivedRun, RunSender, withChanges } from '../../src/ui/server/changes.ts';
import type { RunView } from '../../src/ui/server/source.ts';
import { MemoryS3 } from '../simulation/engine/support/shared-stores.ts';

const VMS = 300;
const AT_ONCE = 10;
const START = Date.parse('2026-01-01T00:00:00Z');
const STEPS = [
  ['clone', 20_000],
  ['configure', 1_000],
  ['start', 2_000],
  ['ready', 15_000],
] as const;

/** Ten VMs at a time, each with its four steps. */
function journal(): readonly RunEvent[] {
  const addresses = Array.from({ length: VMS }, (_, index) => `vm.worker[${index + 1}]`);
  const at = (ms: number) => new Date(START + ms).toISOString();
  const events: RunEvent[] = addresses.flatMap((address, index) => {
    let ms = Math.floor(index / AT_ONCE) * 38_500 + (index % AT_ONCE) * 700;
    return STEPS.flatMap(([verb, tookMs]): RunEvent[] => {
      const step = `${address}/${verb}`;
      const startedAt = at(ms);
      ms += tookMs;
      return [
        { event: 'stepStarted', at: startedAt, step, address, action: `vm.${verb}` },
        { event: 'stepDone', at: at(ms), step },
        ...(verb === 'ready' ? [{ event: 'resourceEnded', at: at(ms), address, outcome: 'done' } as const] : []),
      ];
    });
  });
  const steps = addresses.flatMap((address) =>
    STEPS.map(([verb]) => ({ id: `${address}/${verb}`, address, stage: verb, action: `vm.${verb}` })),
  );
  return [
    { event: 'runStarted', at: at(0), format: 2, runId: 'r1', command: 'apply', who: 'operator' },
    { event: 'planned', at: at(0), steps },
    ...events.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)),
  ];
}

const EVENTS = journal();

/** As the page gets it when so many events are recorded; the clock is somewhat later than the last of them. */
function viewAfter(count: number): RunView {
  const events = EVENTS.slice(0, count);
  const now = Date.parse(events.at(-1)?.at ?? '') + 300;
  const chart = chartOf(describeRun({ runId: 'r1', events }), now);
  return { chart, log: events.map(({ at, event }) => ({ at, address: '', what: event })) };
}

const elementsOf = (chart: Chart) =>
  drawTimeline(foldedChart(chart), { hasStyle: false }).match(/<(?!\/)[a-z]/g)?.length ?? 0;
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

describe('the live view of 300 VMs', () => {
  it('is sent in full once, and then only what an event changed', () => {
    const sender = new RunSender();
    let shown: ReceivedRun | undefined;
    const sizes: number[] = [];
    for (const count of Array.from({ length: 40 }, (_, index) => 1_200 + index)) {
      const view = viewAfter(count);
      const sent = JSON.parse(JSON.stringify(sender.next(view)));
      sizes.push(bytesOf(sent));
      shown = withChanges(shown, sent);
      const { packed: _, ...whole } = shown;
      expect(whole).toEqual(view);
    }
    const [first = 0, ...updates] = sizes;
    expect(first).toBeGreaterThan(150_000);
    expect(Math.max(...updates)).toBeLessThan(10_000);
    expect(updates.reduce((sum, bytes) => sum + bytes, 0) / updates.length).toBeLessThan(6_000);
  });

  it('starts from nothing for a new connection and for another run', () => {
    const sender = new RunSender();
    const view = viewAfter(500);
    const other = { ...viewAfter(200), chart: { ...viewAfter(200).chart, runId: 'r2' } };
    const before = withChanges(undefined, sender.next(view));
    const { packed: _, ...whole } = withChanges(before, sender.next(other));
    expect(whole).toEqual(other);
  });

  it('draws rows for the VMs at work, and one for those that are done or wait', () => {
    for (const count of [2, 100, 1_000, EVENTS.length - 1]) {
      const { chart } = viewAfter(count);
      expect(elementsOf(chart)).toBeLessThan(500);
      const folded = foldedChart(chart);
      const working = chart.rows.filter(({ status }) => status === 'working').map(({ address }) => address);
      expect(folded.rows.map(({ address }) => address)).toEqual(expect.arrayContaining(working));
      expect(folded.rows.length).toBeLessThanOrEqual(working.length + 2);
    }
  });

  it('folds VMs that wait between two steps, with the wait that lasts', () => {
    const addresses = Array.from({ length: VMS }, (_, index) => `vm.worker[${index + 1}]`);
    const at = (ms: number) => new Date(START + ms).toISOString();
    const events = addresses.flatMap((address): RunEvent[] => [
      { event: 'stepStarted', at: at(0), step: `${address}/start`, address, action: 'vm.start' },
      { event: 'stepDone', at: at(2_000), step: `${address}/start` },
    ]);
    const first = { step: 'vm.worker[1]/ready', address: 'vm.worker[1]', action: 'vm.ready' };
    const run = describeRun({
      runId: 'r1',
      events: [
        { event: 'runStarted', at: at(0), format: 2, runId: 'r1', command: 'apply', who: 'operator' },
        ...events,
        { event: 'stepStarted', at: at(2_000), ...first, timeoutMs: 600_000 },
      ],
    });
    const folded = foldedChart(chartOf(run, START + 60_000));
    expect(folded.resources).toBe(VMS);
    expect(folded.rows.map(({ address }) => address)).toEqual([
      'vm.worker[1]',
      'vm.worker: 299 waiting for their turn',
    ]);
    expect(folded.rows[1]?.bars).toMatchObject([{ kind: 'turn', fromMs: 2_000, toMs: 60_000 }]);
    const svg = drawTimeline(folded, { hasStyle: false });
    expect(svg).toContain('the guest, up to 10m');
    expect(svg).toContain('300 resources');
  });

  it('draws every VM once the run has ended, and always in a small run', () => {
    const { chart } = viewAfter(1_000);
    expect(foldedChart({ ...chart, outcome: 'done' }).rows).toHaveLength(VMS);
    expect(foldedChart({ ...chart, rows: chart.rows.slice(0, 60) }).rows).toHaveLength(60);
  });
});

/** Counts what a page asks of a store; with `sizeOf` it is one on this machine. */
class CountedStore extends MemoryStore {
  lists = 0;
  reads = 0;

  override read(name: string) {
    this.reads++;
    return super.read(name);
  }

  override list(prefix?: string) {
    this.lists++;
    return super.list(prefix);
  }
}

class CountedFiles extends CountedStore {
  async sizeOf(name: string): Promise<number | undefined> {
    return (await MemoryStore.prototype.read.call(this, name))?.length;
  }
}

describe('a page that watches', () => {
  const watch = async (store: CountedStore) => {
    const clock = new VirtualClock();
    const { deps } = testDeps({ clock });
    const opened = { stack: { name: 'lab' }, store, file: 'stack.yaml', directory: '.', stateDirectory: '.' } as never;
    const source = pageSource({
      entries: [{ id: 'lab', name: 'lab', file: 'stack.yaml' }],
      open: async () => ({ stack: opened, deps }),
      connect: () => Promise.reject(new Error('The live view asks the cluster nothing.')),
      diagnose: async () => [],
      deps,
    });
    const writer = new JournalWriter(store, clock, '20260101T000000Z-000001');
    await writer.write({ event: 'runStarted', format: 2, runId: writer.runId, command: 'apply', who: 'operator' });
    [store.lists, store.reads] = [0, 0];
    // Three pages look twice a second for a minute; the run records something in the middle.
    const seen = [new Set<string>(), new Set<string>(), new Set<string>()];
    for (let look = 0; look < 120; look++) {
      if (look === 60) await writer.write({ event: 'note', level: 'info', text: 'half' });
      for (const marks of seen) {
        const pulse = await source.pulse('lab');
        const mark = pulse?.ok ? pulse.value : '';
        if (!marks.has(mark)) expect(await source.run('lab', 'last')).toBeDefined();
        marks.add(mark);
      }
      await clock.advance(500);
    }
    expect(seen.map((marks) => marks.size)).toEqual([2, 2, 2]);
    return { lists: store.lists, reads: store.reads };
  };

  it('reads a journal on this machine only when it has grown', async () => {
    // One read for each of the three pages and each of the two states.
    expect((await watch(new CountedFiles())).reads).toBe(6);
  });

  it('asks a shared store every two seconds, however many pages there are', async () => {
    expect(await watch(new CountedStore())).toEqual({ lists: 30, reads: 30 });
  });
});

it('reads only the new lines of a journal in S3', async () => {
  const clock = new VirtualClock();
  const s3 = new MemoryS3(clock);
  const [here, elsewhere] = [s3.open(clock, 'laptop'), s3.open(clock, 'ci')];
  await clock.run(async () => {
    const owner = { runId: 'r1', who: 'ci', host: 'ci', pid: 1, since: '2026-01-01T00:00:00Z', command: 'apply' };
    const lock = await elsewhere.lock(owner);
    const lines = Array.from({ length: 100 }, (_, index) => `line ${index}`);
    for (const line of lines) await elsewhere.append('runs/1.jsonl', line);
    const askedBy = async (work: () => Promise<unknown>) => {
      const before = s3.bucket.requests;
      await work();
      return s3.bucket.requests - before;
    };
    expect(await askedBy(() => here.read('runs/1.jsonl'))).toBeGreaterThan(100);
    for (const line of ['one', 'two', 'three']) {
      lines.push(line);
      await elsewhere.append('runs/1.jsonl', line);
      let text: string | undefined;
      const asked = await askedBy(async () => {
        text = await here.read('runs/1.jsonl');
      });
      expect(text).toBe(`${lines.join('\n')}\n`);
      // The index, the new line, the place of the next one, and the index again: the run may have ended meanwhile.
      expect(asked).toBeLessThanOrEqual(4);
    }
    // Its end replaces the lines by one document.
    await lock.release();
    expect(await here.read('runs/1.jsonl')).toBe(`${lines.join('\n')}\n`);
  });
});
