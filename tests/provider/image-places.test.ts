/** Images by source and target: uploaded, on shared storage, on several nodes. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { sharedImageSources } from '../../src/provider/configure/deps.ts';
import { bareClusterWorld } from '../../src/simulator/index.ts';
import { BYTES, bytesSource, SHA256 } from '../simulation/files/bench.ts';
import { BareBench, NOBLE } from './support/bare-bench.ts';
import { problemsOf } from './support/kill-everywhere.ts';

const SENT = { node: 'vmhost', path: 'build/own.qcow2', storage: 'local', content: 'import' };
const EMPTY_PLAN = { action: 'none', changed: [], diagnostics: [] };

function sendingBench(): BareBench {
  const bench = new BareBench();
  bench.imageSources = () => bytesSource();
  return bench;
}

describe('an image that is sent', () => {
  it('arrives, is found again, and goes with its resource', async () => {
    const bench = sendingBench();
    await bench.run(async () => {
      const { images } = bench.hosts();
      expect((await images.apply(SENT)).diagnostics).toEqual([]);
      expect(images.state).toMatchObject({ id: 'local:import/own.qcow2', size_bytes: BYTES.byteLength });
      const later = bench.hosts({ image: images.instance }).images;
      expect(await later.plan(SENT)).toEqual(EMPTY_PLAN);
      expect(problemsOf(await later.apply(null))).toEqual([]);
      expect(bench.files()).toEqual([]);
    });
  });

  it('is another one when its checksum is', async () => {
    const bench = sendingBench();
    await bench.run(async () => {
      const { images } = bench.hosts();
      await images.apply({ ...SENT, sha256: SHA256 });
      expect((await images.plan({ ...SENT, sha256: '0'.repeat(64) })).action).toBe('replace');
    });
  });

  it('is used and kept if the process that sent it died before it could say so, because it may belong to another stack', async () => {
    const bench = sendingBench();
    const calm = sendingBench();
    const whole = calm.hosts();
    await calm.run(() => whole.images.apply(SENT));
    const killAt = whole.points.length;
    const dying = bench.hosts({}, { killAt });
    await bench.run(() => dying.orDeath(dying.images.apply(SENT)));
    await bench.clock.advance(60_000);
    await bench.run(async () => {
      const { images } = bench.hosts();
      const made = await images.apply(SENT);
      expect(problemsOf(made)).toEqual([]);
      expect(made.diagnostics.map(({ summary }) => summary)).toContain('The file already exists');
      const gone = await images.apply(null);
      expect(gone.diagnostics.map(({ summary }) => summary)).toContain('The file stays');
      expect(bench.files()).toHaveLength(1);
    });
  });
});

describe('an image in a cluster', () => {
  const shared = { ...NOBLE, node: 'pve1', storage: 'nfs' };

  it('is on shared storage once, whichever node does the work', async () => {
    const bench = new BareBench({ world: bareClusterWorld });
    await bench.run(async () => {
      const { images } = bench.hosts();
      expect((await images.apply(shared)).diagnostics).toEqual([]);
      const moved = await images.apply({ ...shared, node: 'pve2' });
      expect([moved.action, problemsOf(moved)]).toEqual(['update', []]);
      expect(bench.tasks('download')).toEqual(['OK']);
      const later = bench.hosts({ image: images.instance }).images;
      expect(await later.plan({ ...shared, node: 'pve2' })).toEqual(EMPTY_PLAN);
      expect(problemsOf(await later.apply(null))).toEqual([]);
      expect(bench.files('nfs')).toEqual([]);
    });
  });

  it('is on local storage once for each node, and on another node another one', async () => {
    const bench = new BareBench({ world: bareClusterWorld });
    await bench.run(async () => {
      const [first, second] = [bench.hosts().images, bench.hosts().images];
      await Promise.all([first.apply({ ...NOBLE, node: 'pve1' }), second.apply({ ...NOBLE, node: 'pve2' })]);
      expect(bench.files()).toHaveLength(2);
      expect((await first.plan({ ...NOBLE, node: 'pve3' })).action).toBe('replace');
      expect(problemsOf(await first.apply(null))).toEqual([]);
      expect(bench.files()).toHaveLength(1);
    });
  });
});

describe('local files', () => {
  it('clears away what was unpacked when the last of its users is done', async () => {
    const home = await mkdtemp(join(tmpdir(), 'proxwright-images-'));
    try {
      await writeFile(join(home, 'own.img'), 'bytes of an image');
      const withSources = sharedImageSources({
        clock: new VirtualClock(),
        environment: { XDG_CACHE_HOME: join(home, 'cache') },
        directory: home,
        endpoint: 'https://pve1.test:8006',
      });
      const prepared = await withSources((sources) =>
        withSources(async () => sources({ kind: 'file', path: 'own.img' }).prepare({})),
      );
      expect(prepared.sizeBytes).toBe(17);
      const [own = ''] = await readdir(join(home, 'cache', 'proxwright'));
      expect(own).toMatch(/^terraform-[0-9a-f]{16}$/);
      expect(await readdir(join(home, 'cache', 'proxwright', own))).toEqual([]);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});
