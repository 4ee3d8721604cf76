/**
 * A run is killed at every request, before and after its effect, and at every line of its journal, before and after it is
 * written. The next run settles what was open and does the step again. Whatever the point: the file is there once, whole,
 * recorded, and no two tasks ever worked on it at once.
 */
import { describe, expect, it } from 'vitest';
import { fileKey } from '../../../src/kinds/image/record.ts';
import { pointsOf } from '../../support/depth.ts';
import { BYTES, FileBench, PLACE, SHA256, URL_OF_IMAGE, VOLID } from './bench.ts';

const FETCH = { ...PLACE, url: URL_OF_IMAGE, sha256: SHA256 };
const { sha256: _, ...PLAIN } = FETCH;
const SEND = { ...PLACE, origin: { kind: 'file', path: 'noble.qcow2' } } as const;

interface Story {
  readonly name: string;
  readonly prepare?: (bench: FileBench) => Promise<void>;
  readonly work: (bench: FileBench) => Promise<void>;
  /** Type of the task of which no two may run at once, and how many may end well at most. */
  readonly task: string;
  readonly atMost: number;
  readonly sizeBytes: number | undefined;
  readonly node?: string;
}

const STORIES: readonly Story[] = [
  // With a sum, asking again only compares.
  { name: 'fetched', work: (bench) => bench.step('image.fetch', FETCH), task: 'download', atMost: 2, sizeBytes: 3e8 },
  {
    name: 'fetched unseen',
    work: (bench) => bench.step('image.fetch', PLAIN),
    task: 'download',
    atMost: 1,
    sizeBytes: 3e8,
  },
  {
    name: 'sent',
    work: (bench) => bench.step('image.send', SEND),
    task: 'imgcopy',
    atMost: 1,
    sizeBytes: BYTES.byteLength,
  },
  {
    name: 'sent to a node that is not asked',
    work: (bench) => bench.step('image.send', { ...SEND, node: 'pve2' }),
    task: 'imgcopy',
    atMost: 1,
    sizeBytes: BYTES.byteLength,
    node: 'pve2',
  },
  {
    name: 'fetched in place of another',
    prepare: strangersFile,
    work: (bench) => bench.step('image.fetch', { ...FETCH, replace: true }),
    task: 'download',
    atMost: 3,
    sizeBytes: 3e8,
  },
  {
    name: 'sent over another',
    prepare: strangersFile,
    work: (bench) => bench.step('image.send', { ...SEND, replace: true }),
    task: 'imgcopy',
    // One of them is the stranger's.
    atMost: 2,
    sizeBytes: BYTES.byteLength,
  },
  {
    name: 'removed',
    prepare: (bench) => bench.step('image.send', SEND),
    work: (bench) => bench.step('image.remove', PLACE),
    task: 'imgdel',
    atMost: 1,
    sizeBytes: undefined,
  },
];

async function strangersFile(bench: FileBench): Promise<void> {
  const bytes = BYTES.subarray(0, 1_000_000);
  const upid = await bench.pve.node('pve1').storage('local').upload({ content: 'import', filename: PLACE.file, bytes });
  await bench.pve.tasks.wait(upid);
}

/** Of tasks of one type, whether any two overlapped. */
function overlaps(bench: FileBench, type: string): boolean {
  const spans = [...bench.world.tasks.values()]
    .filter((task) => task.type === type)
    .map(({ startedAt, endedAt }) => ({ from: startedAt, to: endedAt ?? Number.POSITIVE_INFINITY }))
    .sort((a, b) => a.from - b.from);
  return spans.some(({ from }, index) => from < (spans[index - 1]?.to ?? 0));
}

describe.each(STORIES)(
  'a kill while an image is $name',
  ({ prepare, work, task, atMost, sizeBytes, node = 'pve1' }) => {
    async function prepared(): Promise<FileBench> {
      const bench = new FileBench();
      if (prepare) await bench.clock.run(() => prepare(bench));
      return bench;
    }

    it('is made good by the next run, at any point', async () => {
      const whole = await prepared();
      await whole.mortally(() => work(whole));
      const { points } = whole;
      expect(points).toBeGreaterThan(8);
      for (const killAt of pointsOf(points, 1)) {
        const bench = await prepared();
        bench.killAt = killAt;
        expect(await bench.mortally(() => work(bench)), `point ${killAt}`).toBe(true);
        // Some die long before the next run comes, some just before.
        if (killAt % 3 === 0) await bench.clock.advance(60_000);
        await bench.clock.run(async () => {
          await bench.takeUp();
          await work(bench);
        });
        expect(bench.volume(node)?.sizeBytes, `point ${killAt}`).toBe(sizeBytes);
        const memory = bench.files.get(fileKey(node, VOLID));
        if (sizeBytes === undefined) expect(memory, `point ${killAt}`).toBeUndefined();
        else expect(memory, `point ${killAt}`).toMatchObject({ sizeBytes, volid: VOLID, ctime: expect.any(Number) });
        expect(memory?.incomplete, `point ${killAt}`).toBeUndefined();
        expect(bench.tasks(task).filter((status) => status === 'OK').length, `point ${killAt}`).toBeLessThanOrEqual(
          atMost,
        );
        expect(overlaps(bench, task), `point ${killAt}`).toBe(false);
        expect(
          bench.logs.filter((line) => line.startsWith('warn')),
          `point ${killAt}`,
        ).toEqual([]);
      }
    });
  },
);

describe('settling an open step', () => {
  it('waits for a download that still runs and starts nothing', async () => {
    const bench = new FileBench();
    const whole = new FileBench();
    await whole.mortally(() => whole.step('image.fetch', FETCH));
    const outcomes = new Set<string>();
    for (let killAt = 1; killAt <= whole.points; killAt++) {
      const each = new FileBench();
      each.killAt = killAt;
      await each.mortally(() => each.step('image.fetch', FETCH));
      each.requests.length = 0;
      outcomes.add(await each.clock.run(() => each.takeUp()));
      expect(
        each.sent().filter((line) => !line.startsWith('GET')),
        `point ${killAt}`,
      ).toEqual([]);
      expect(
        each.tasks('download').filter((status) => status === 'runs'),
        `point ${killAt}`,
      ).toEqual([]);
    }
    expect(outcomes).toContain('made');
    expect(outcomes).toContain('nothing');
    expect(await bench.takeUp()).toBe('nothing open');
  });
});
