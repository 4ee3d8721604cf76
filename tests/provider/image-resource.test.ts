import { describe, expect, it } from 'vitest';
import { UNKNOWN } from '../../src/provider/cty/value.ts';
import { WELL_KNOWN_URLS } from '../../src/simulator/index.ts';
import { BareBench, NOBLE, NOBLE_SHA256, NOBLE_VOLUME } from './support/bare-bench.ts';
import { codes, told } from './support/small-vms.ts';
import { type Config, complete, type ToyHost } from './support/toy-host.ts';

const EMPTY_PLAN = { action: 'none', changed: [], diagnostics: [] };

describe('an image of Terraform', () => {
  it('is transferred, and the next plan is empty', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      const { images } = bench.hosts();
      expect(await images.validate(NOBLE)).toEqual([]);
      const planned = await images.plan(NOBLE);
      expect(planned).toMatchObject({ action: 'create', diagnostics: [] });
      expect((await images.apply(NOBLE)).diagnostics).toEqual([]);
      expect(images.state).toMatchObject({ id: NOBLE_VOLUME, size_bytes: 597 * 1024 ** 2, file: 'noble.qcow2' });
      expect(bench.tasks('download')).toEqual(['OK']);
      const later = bench.hosts({ image: images.instance }).images;
      expect(await later.plan(NOBLE)).toEqual(EMPTY_PLAN);
      expect((await later.apply(null)).diagnostics).toEqual([]);
      expect(bench.files()).toEqual([]);
    });
  });

  it('has a volume that is known before it is there, so that others can be planned', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      const { images } = bench.hosts();
      const config = { ...NOBLE, url: UNKNOWN };
      const { planned } = await images.resource.plan(requestFor(images, config), images.call);
      expect(planned).toMatchObject({ id: NOBLE_VOLUME, size_bytes: UNKNOWN });
      const open = await images.resource.plan(
        requestFor(images, { ...NOBLE, storage: UNKNOWN, node: UNKNOWN }),
        images.call,
      );
      expect(open).toMatchObject({ planned: { id: UNKNOWN }, diagnostics: [] });
    });
  });

  it('is transferred again after it was deleted outside Terraform', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      const { images } = bench.hosts();
      await images.apply(NOBLE);
      await remove(bench);
      const later = bench.hosts({ image: images.instance }).images;
      expect((await later.apply(NOBLE)).action).toBe('create');
      expect(bench.tasks('download')).toEqual(['OK', 'OK']);
    });
  });

  it('is replaced after another client changed it', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      const { images } = bench.hosts();
      await images.apply(NOBLE);
      await remove(bench);
      await download(bench, WELL_KNOWN_URLS.debian12);
      const later = bench.hosts({ image: images.instance }).images;
      const plan = await later.plan(NOBLE);
      expect([plan.action, plan.changed]).toEqual(['replace', ['size_bytes']]);
      expect(plan.diagnostics.map(({ detail }) => detail).join()).toContain('another client has written to the file');
      const applied = await later.apply(NOBLE);
      expect(applied.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
      expect(later.state.size_bytes).toBe(597 * 1024 ** 2);
      expect(await bench.hosts({ image: later.instance }).images.plan(NOBLE)).toEqual(EMPTY_PLAN);
    });
  });

  it('is replaced by another source or checksum, and not by the same checksum in capitals', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      const { images } = bench.hosts();
      const config = { ...NOBLE, sha256: NOBLE_SHA256 };
      await images.apply(config);
      expect((await images.plan({ ...config, url: WELL_KNOWN_URLS.debian12 })).action).toBe('replace');
      expect((await images.plan({ ...config, sha256: '0'.repeat(64) })).action).toBe('replace');
      expect((await images.plan({ ...config, sha256: NOBLE_SHA256.toUpperCase() })).action).toBe('update');
      const other = { ...NOBLE, url: WELL_KNOWN_URLS.debian12 };
      expect((await images.apply(other)).diagnostics.map(({ summary }) => summary)).toEqual([
        'This image will be replaced',
      ]);
      expect(images.state.size_bytes).toBe(425 * 1024 ** 2);
      expect(bench.files()).toHaveLength(1);
    });
  });

  it('is compared with a checksum that is declared later', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      const { images } = bench.hosts();
      await images.apply(NOBLE);
      expect(codes((await images.apply({ ...NOBLE, sha256: '1'.repeat(64) })).diagnostics)).toEqual(['FILE_DIFFERS']);
      expect((await images.apply({ ...NOBLE, sha256: NOBLE_SHA256 })).diagnostics).toEqual([]);
      expect(await images.plan({ ...NOBLE, sha256: NOBLE_SHA256 })).toEqual(EMPTY_PLAN);
      await images.apply(null);
      expect(bench.files()).toEqual([]);
    });
  });

  it('is used with a warning, and kept, if the file existed before', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      await download(bench, WELL_KNOWN_URLS.ubuntuNoble);
      const { images } = bench.hosts();
      const made = await images.apply({ ...NOBLE, sha256: NOBLE_SHA256 });
      expect(made.diagnostics.map(({ summary }) => summary)).toEqual(['The file already exists']);
      const gone = await images.apply(null);
      expect(gone.diagnostics.map(({ summary }) => summary)).toContain('The file stays');
      expect(bench.files()).toHaveLength(1);
    });
  });

  it.each([
    ['without a checksum', NOBLE],
    ['with a checksum', { ...NOBLE, sha256: NOBLE_SHA256 }],
  ])('stays when ours is destroyed if another configuration fetched it with the same token, %s', async (_, config) => {
    const bench = new BareBench();
    await bench.run(async () => {
      const theirs = bench.hosts().images;
      await theirs.apply(config);
      const ours = bench.hosts().images;
      const made = await ours.apply(config);
      expect(made.diagnostics.map(({ summary }) => summary)).toContain('The file already exists');
      const gone = await ours.apply(null);
      expect(gone.diagnostics.map(({ summary }) => summary)).toContain('The file stays');
      expect(bench.tasks('imgdel')).toEqual([]);
      expect(await theirs.plan(config)).toEqual(EMPTY_PLAN);
      await theirs.apply(null);
      expect(bench.files()).toEqual([]);
    });
  });

  it('is taken over by node and volume', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      await download(bench, WELL_KNOWN_URLS.ubuntuNoble);
      const { images } = bench.hosts();
      expect(codes(await images.import('noble.qcow2'))).toEqual(['BAD_VALUE']);
      expect(codes(await images.import('vmhost/local:import/other.qcow2'))).toEqual(['NOT_FOUND']);
      expect(await images.import(`vmhost/${NOBLE_VOLUME}`)).toEqual([]);
      expect(images.state).toMatchObject({ id: NOBLE_VOLUME, node: 'vmhost', storage: 'local', content: 'import' });
      expect((await images.apply({ ...NOBLE, sha256: NOBLE_SHA256 })).action).toBe('update');
      expect(await images.plan({ ...NOBLE, sha256: NOBLE_SHA256 })).toEqual(EMPTY_PLAN);
    });
  });
});

describe('a plan of an image', () => {
  it.each([
    ['that the storage is missing', { storage: 'nowhere' }, 'error storage: Node vmhost has no storage "nowhere"'],
    ['that the storage does not hold such content', { storage: 'tank' }, 'error storage: Storage "tank" does not hold'],
    ['that the node is missing', { node: 'vmhost9' }, 'error storage: The storages of node vmhost9 cannot be read'],
  ])('says before anything happens %s', async (_, change, expected) => {
    const bench = new BareBench();
    await bench.run(async () => {
      const { diagnostics } = await bench.hosts().images.plan({ ...NOBLE, ...change });
      expect(diagnostics.map(told)).toEqual([expect.stringContaining(expected)]);
    });
  });

  it('says that another file has the name', async () => {
    const bench = new BareBench();
    await bench.run(async () => {
      await download(bench, WELL_KNOWN_URLS.debian12);
      const { diagnostics } = await bench.hosts().images.plan(NOBLE);
      expect(diagnostics.map(told)).toEqual([
        expect.stringContaining('error file: local:import/noble.qcow2 already exists on'),
      ]);
      expect(codes(diagnostics)).toEqual(['FILE_DIFFERS']);
      expect(bench.writes().filter((line) => !line.includes('/access/'))).toHaveLength(0);
    });
  });

  it('says what its configuration lacks', async () => {
    const bench = new BareBench();
    const { images } = bench.hosts();
    const { url: _, ...sourceless } = NOBLE;
    expect((await images.validate(sourceless)).map(told)).toEqual([expect.stringContaining('has no source')]);
    const { file: __, ...unnamed } = NOBLE;
    expect((await images.validate(unnamed)).map(told)).toEqual([expect.stringMatching(/^error url: .*must end in/)]);
    expect((await images.validate({ ...NOBLE, timeouts: { image: 'long' } })).map(told)).toEqual([
      expect.stringContaining('error timeouts'),
    ]);
  });
});

function requestFor(host: ToyHost, config: Config) {
  const whole = complete(host.resource.schema.attributes, config);
  return { prior: null, proposed: whole, config: whole, private: undefined };
}

async function download(bench: BareBench, url: string): Promise<void> {
  const pve = bench.outside();
  const upid = await pve
    .node('vmhost')
    .storage('local')
    .downloadUrl({ url, content: 'import', filename: 'noble.qcow2' });
  await pve.tasks.wait(upid);
}

async function remove(bench: BareBench): Promise<void> {
  const pve = bench.outside();
  const upid = await pve.node('vmhost').storage('local').content.delete(NOBLE_VOLUME, {});
  if (upid !== undefined) await pve.tasks.wait(upid);
}
