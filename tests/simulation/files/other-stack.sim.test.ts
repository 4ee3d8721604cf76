/** A run is killed around its request, and another stack brings the same file meanwhile: the file belongs to that stack. */
import { describe, expect, it } from 'vitest';
import { BYTES, bytesSource, FileBench, IMAGE, KEY, PLACE, SHA256, TOKEN, URL_OF_IMAGE } from './bench.ts';

const PLAIN = { ...PLACE, url: URL_OF_IMAGE };
const CHECKED = { ...PLAIN, sha256: SHA256 };

/** The line of the journal before the request, and the request. */
async function killedBeforeRequest(input: typeof PLAIN): Promise<FileBench> {
  for (let point = 1; ; point++) {
    const bench = new FileBench();
    bench.killAt = point;
    const isKilled = await bench.mortally(() => bench.step('image.fetch', input));
    if (!isKilled) throw new Error('it was never killed with an open intent');
    if (bench.open?.intent !== undefined && bench.tasks('download').length === 0) return bench;
  }
}

async function fetchedByOther(bench: FileBench, afterMs: number): Promise<void> {
  await bench.clock.sleep(afterMs);
  const pve = bench.connect(TOKEN);
  const upid = await pve
    .node('pve1')
    .storage('local')
    .downloadUrl({ url: URL_OF_IMAGE, content: 'import', filename: PLACE.file });
  await pve.tasks.wait(upid);
}

describe('a file that another stack fetched while ours was dead', () => {
  it.each([
    ['without a checksum', PLAIN],
    ['with a checksum', CHECKED],
  ])('is used, and not removed with our stack, %s', async (_, input) => {
    const bench = await killedBeforeRequest(input);
    await bench.clock.run(() => fetchedByOther(bench, 10_000));
    expect(await bench.clock.run(() => bench.takeUp())).toBe('ended');
    expect(bench.files.get(KEY)).toBeUndefined();
    await bench.run('image.fetch', input);
    expect(bench.files.get(KEY)).toMatchObject({ address: IMAGE, foreign: true });
    await bench.run('image.remove', PLACE);
    expect(bench.volume()).toBeDefined();
  });

  it('is waited for while it arrives, and still belongs to the other stack', async () => {
    const bench = await killedBeforeRequest(PLAIN);
    await bench.clock.run(async () => {
      await bench.clock.advance(10_000);
      const pve = bench.connect(TOKEN);
      await pve
        .node('pve1')
        .storage('local')
        .downloadUrl({ url: URL_OF_IMAGE, content: 'import', filename: PLACE.file });
      expect(await bench.takeUp()).toBe('ended');
      await bench.step('image.fetch', PLAIN);
    });
    expect(bench.tasks('download')).toEqual(['OK']);
    expect(bench.files.get(KEY)).toMatchObject({ foreign: true });
  });

  it('is ours if a run of ours lost the answer, also when its task has ended by then', async () => {
    for (let point = 1; ; point++) {
      const bench = new FileBench();
      bench.killAt = point;
      if (!(await bench.mortally(() => bench.step('image.fetch', PLAIN)))) break;
      if (bench.open?.intent === undefined || bench.tasks('download').length === 0) continue;
      await bench.clock.advance(3_600_000);
      await bench.clock.run(() => bench.takeUp());
      expect(bench.files.get(KEY), `killed at ${point}`).toMatchObject({ sizeBytes: 300_000_000 });
      expect(bench.files.get(KEY)).not.toHaveProperty('foreign');
      await bench.run('image.remove', PLACE);
      expect(bench.volume()).toBeUndefined();
    }
  });
});

const SEND = { ...PLACE, origin: { kind: 'file', path: 'noble.qcow2' } } as const;

async function uploadedByOther(bench: FileBench, afterMs: number): Promise<void> {
  await bench.clock.sleep(afterMs);
  const bytes = await bytesSource().prepare({});
  const pve = bench.connect(TOKEN);
  const storage = pve.node('pve1').storage('local');
  await pve.tasks.wait(await storage.upload({ content: 'import', filename: PLACE.file, bytes }));
}

const WAYS = [
  ['downloaded', 'download', fetchedByOther, (bench: FileBench) => bench.step('image.fetch', PLAIN)],
  ['uploaded', 'imgcopy', uploadedByOther, (bench: FileBench) => bench.step('image.send', SEND)],
] as const;

describe.each(WAYS)('a file that another stack %s after our run was killed', (_, task, byOther, ours) => {
  it.each([
    ['the next apply', async (bench: FileBench) => await bench.clock.run(() => ours(bench))],
    ['a destroy', async () => {}],
  ])('outlives our stack, wherever the run was killed before it had a task, with %s in between', async (_, next) => {
    let kills = 0;
    for (let point = 1; ; point++) {
      const bench = new FileBench();
      bench.killAt = point;
      if (!(await bench.mortally(() => ours(bench)))) break;
      if (bench.tasks(task).length > 0) continue;
      kills++;
      await bench.clock.run(async () => {
        await byOther(bench, 60_000);
        await bench.takeUp();
      });
      await next(bench);
      const recorded = bench.files.get(KEY);
      expect(recorded?.foreign ?? recorded === undefined, `killed at ${point}`).toBe(true);
      if (recorded) await bench.run('image.remove', PLACE);
      expect(bench.volume(), `killed at ${point}`).toBeDefined();
    }
    expect(kills).toBeGreaterThan(3);
  });
});

describe('a file that we uploaded', () => {
  it('is ours if a run of ours lost the answer, also when its task has ended by then', async () => {
    let kills = 0;
    for (let point = 1; ; point++) {
      const bench = new FileBench();
      bench.killAt = point;
      if (!(await bench.mortally(() => bench.step('image.send', SEND)))) break;
      if (bench.open?.intent === undefined || bench.tasks('imgcopy').length === 0) continue;
      kills++;
      await bench.clock.advance(3_600_000);
      await bench.clock.run(() => bench.takeUp());
      expect(bench.files.get(KEY), `killed at ${point}`).toMatchObject({ sizeBytes: BYTES.byteLength });
      expect(bench.files.get(KEY)).not.toHaveProperty('foreign');
      await bench.run('image.remove', PLACE);
      expect(bench.volume()).toBeUndefined();
    }
    expect(kills).toBeGreaterThan(0);
  });
});
