/** Downloads and uploads that go wrong, at every point where they can. */
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../base/random.ts';
import { TestClient } from '../testing/client.ts';
import { BARE_WORLD } from '../world/bare-world.ts';
import { madeUpChecksums, WELL_KNOWN_URLS } from '../world/well-known-downloads.ts';
import { ruleFaults, seededFaults } from './plan.ts';
import type { FaultRuleInput } from './rule.ts';
import { TRANSFER_FAULT_KINDS } from './rule.ts';
import { parseShortForm } from './short-form.ts';

const DOWNLOAD = '/nodes/vmhost/storage/local/download-url';
const UPLOAD = '/nodes/vmhost/storage/local/upload';
const IMAGE = { url: WELL_KNOWN_URLS.debian12, content: 'import', filename: 'debian.qcow2' };
const { sha256 = '' } = madeUpChecksums(IMAGE.url);
const CHECKED = { ...IMAGE, checksum: sha256, 'checksum-algorithm': 'sha256' };

function clientWith(...rules: FaultRuleInput[]) {
  const faults = ruleFaults(rules);
  return { client: new TestClient(BARE_WORLD, faults), faults };
}

const listed = (client: TestClient) => client.ask('GET', '/nodes/vmhost/storage/local/content');

describe('a download', () => {
  it.each([
    ['unresolvable', "download failed: wget: unable to resolve host address 'cloud.debian.org'"],
    ['refused', /^download failed: Connecting to cloud\.debian\.org .*\|:443\.\.\. failed: Connection refused\.$/],
    ['status', 'download failed: exit code 8'],
    ['cut', 'download failed: exit code 4'],
    ['content', /^checksum mismatch: got '0+' != expect '[0-9a-f]{64}'$/],
  ] as const)('that fails by "%s" leaves nothing behind and succeeds the next time', async (how, expected) => {
    const { client, faults } = clientWith({ kind: 'download-fail', how, at: 1 });
    const { exitStatus } = await client.task('POST', DOWNLOAD, CHECKED);
    expect(exitStatus).toMatch(expected);
    expect(await listed(client)).toEqual([]);
    expect(await client.task('POST', DOWNLOAD, CHECKED)).toMatchObject({ exitStatus: 'OK' });
    expect(faults.strikes).toEqual([{ kind: 'download-fail', what: `POST ${DOWNLOAD}`, at: expect.any(Number) }]);
  });

  it('whose connection breaks once is resumed by wget itself', async () => {
    const { client } = clientWith({ kind: 'download-fail', how: 'cut-once', percent: 40, at: 1 });
    const { exitStatus, log } = await client.task('POST', DOWNLOAD, CHECKED);
    expect(exitStatus).toBe('OK');
    expect(log.filter((line) => line.includes('Retrying.'))).toHaveLength(1);
    expect(log.filter((line) => line.includes('206 Partial Content'))).toHaveLength(1);
    expect(log.find((line) => line.includes('[ skipping'))).toBe('        [ skipping 163840K ]');
  });

  it('that stalls is delayed by that much', async () => {
    const durationMs = async (...rules: FaultRuleInput[]) => {
      const { startedAt, endedAt = 0 } = await clientWith(...rules).client.task('POST', DOWNLOAD, CHECKED);
      return endedAt - startedAt;
    };
    const usual = await durationMs();
    expect(await durationMs({ kind: 'download-stall', percent: 99, for_ms: 45_000 })).toBe(usual + 45_000);
  });

  it('reports its progress, row by row, and a rule can make its task fail at that point', async () => {
    const { client } = clientWith({ kind: 'task-fail', match: { task: 'download' }, percent: 50, at: 1 });
    const { log } = await client.task('POST', DOWNLOAD, CHECKED);
    expect(log.at(-2)).toMatch(/^196608K [. ]+ 52%/);
    expect(await listed(client)).toEqual([]);
    const again = await client.task('POST', DOWNLOAD, CHECKED);
    const percents = again.log.flatMap((line) => /^ *\d+K[ .]+?(\d+)%/.exec(line)?.[1] ?? []).map(Number);
    expect(percents).toHaveLength(14);
    expect(percents.at(-1)).toBe(100);
  });

  it('ends when the disk is full, and when a client stops it', async () => {
    const { client } = clientWith({ kind: 'disk-full', storage: 'local', at: 1, for_ms: 60_000 });
    const full = await client.task('POST', DOWNLOAD, CHECKED);
    expect(full.exitStatus).toMatch(
      /^download failed: Cannot write to '.*debian\.qcow2\.tmp_dwnl\.\d+' \(No space left/,
    );
    await client.clock.advance(60_000);
    const upid = String(await client.ask('POST', DOWNLOAD, CHECKED));
    await client.clock.advance(1_000);
    await client.ask('DELETE', `/nodes/vmhost/tasks/${encodeURIComponent(upid)}`);
    expect((await client.ended(upid)).exitStatus).toBe('download failed: received interrupt');
    expect(await listed(client)).toEqual([]);
  });

  it('of a file that the world marks as faulty fails every time', async () => {
    const client = new TestClient(BARE_WORLD);
    const fetched = async (url: string) => (await client.task('POST', DOWNLOAD, { ...IMAGE, url })).exitStatus;
    expect(await fetched(WELL_KNOWN_URLS.gone)).toBe('download failed: exit code 8');
    expect(await fetched(WELL_KNOWN_URLS.cut)).toBe('download failed: exit code 4');
    expect(await fetched(WELL_KNOWN_URLS.refused)).toMatch(/Connection refused\.$/);
    expect(await fetched('https://closed.example.com/other')).toMatch(/unable to resolve host address/);
  });
});

const PARTS = { fields: { content: 'iso' }, fileName: 'x.iso' };

describe('an upload', () => {
  it.each([0, 50, 100])('that is cut at %d %% has no effect', async (percent) => {
    const { client } = clientWith({ kind: 'upload-cut', percent, at: 1 });
    const bytes = new Uint8Array(1000);
    await expect(client.upload(UPLOAD, PARTS, bytes)).rejects.toThrow('connection reset by peer');
    expect(client.world.tasks.size).toBe(0);
    expect(await client.upload(UPLOAD, PARTS, bytes)).toMatchObject({ exitStatus: 'OK' });
  });

  it('that stalls is delayed by that much', async () => {
    const { client } = clientWith({ kind: 'upload-stall', percent: 50, for_ms: 30_000, at: 1 });
    const before = client.clock.now();
    await client.upload(UPLOAD, PARTS, new Uint8Array(1000));
    expect(client.clock.now() - before).toBeGreaterThanOrEqual(30_000);
  });

  it('whose copy fails removes the previous file', async () => {
    const { client } = clientWith({ kind: 'disk-full', storage: 'local', match: { path: 'upload' }, at: 2 });
    const bytes = new Uint8Array(100_000);
    await client.upload(UPLOAD, PARTS, bytes);
    const { exitStatus } = await client.upload(UPLOAD, PARTS, bytes);
    expect(exitStatus).toBe(
      "import failed: cp: error writing '/var/lib/vz/template/iso/x.iso': No space left on device",
    );
    expect(await listed(client)).toEqual([]);
  });

  it('is never held in memory as a whole, whatever its size', async () => {
    const client = new TestClient(BARE_WORLD);
    const piece = new Uint8Array(1024 * 1024).fill(65);
    const sent: number[] = [];
    const content = {
      sizeBytes: 200 * piece.length,
      open: async function* () {
        for (let index = 0; index < 200; index++) {
          sent.push(index);
          yield piece;
        }
      },
    };
    const before = process.memoryUsage().arrayBuffers;
    const task = await client.ended(await client.uploadStream(UPLOAD, PARTS, content));
    expect(task.log).toContain(`file size is: ${content.sizeBytes}`);
    expect(sent).toHaveLength(200);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * piece.length);
  });

  it('with fewer bytes than announced never arrives', async () => {
    const client = new TestClient(BARE_WORLD);
    const short = {
      sizeBytes: 10,
      open: async function* () {
        yield new Uint8Array(5);
      },
    };
    await expect(client.uploadStream(UPLOAD, PARTS, short)).rejects.toThrow('fewer bytes than were announced');
  });
});

describe('rules about file transfers', () => {
  it('have a short form', () => {
    expect(parseShortForm('download-fail=refused:storage/local/download-url@1,upload-cut=30:upload@2')).toMatchObject([
      { kind: 'download-fail', how: 'refused', match: { path: 'storage/local/download-url' }, at: 1 },
      { kind: 'upload-cut', percent: 30, match: { path: 'upload' }, at: 2 },
    ]);
  });

  it('are drawn from a seed as well, and a patient client succeeds', async () => {
    const struck = new Set<string>();
    for (let seed = 0; seed < 20; seed++) {
      const faults = seededFaults(seededRandom(`transfers ${seed}`), { kinds: TRANSFER_FAULT_KINDS, density: 1 });
      const client = new TestClient(BARE_WORLD, faults);
      const isThere = async () => ((await listed(client)) as unknown[]).length === 2;
      for (let attempt = 0; attempt < 60 && !(await isThere()); attempt++) {
        await client.task('POST', DOWNLOAD, CHECKED);
        await client.upload(UPLOAD, PARTS, new Uint8Array(1000)).catch(() => {});
      }
      expect(await isThere()).toBe(true);
      for (const { kind } of faults.strikes) struck.add(kind);
    }
    expect([...struck].sort()).toEqual([...TRANSFER_FAULT_KINDS].sort());
  });
});
