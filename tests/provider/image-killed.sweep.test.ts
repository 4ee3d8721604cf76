/** A provider process is killed at every point while it works on an image: the next one resumes, and nothing is duplicated or lost. */
import { describe, expect, it } from 'vitest';
import { BareBench, NOBLE, NOBLE_SHA256 } from './support/bare-bench.ts';
import { killBareEverywhere } from './support/kill-bare.ts';
import type { Config } from './support/toy-host.ts';

async function created(config: Config) {
  const bench = new BareBench();
  const { images } = bench.hosts();
  await bench.run(() => images.apply(config));
  return { from: bench.snapshot(), instance: images.instance };
}

describe('a provider that is killed', () => {
  it('is followed by one that transfers nothing twice, wherever the kill was', async () => {
    const failures = await killBareEverywhere({ name: 'image', kind: 'image', config: NOBLE, tasks: ['download'] });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that compares an image with a checksum, wherever the kill was', async () => {
    const config = { ...NOBLE, sha256: NOBLE_SHA256 };
    const failures = await killBareEverywhere({ name: 'checked image', kind: 'image', config, tasks: [] });
    expect(failures.slice(0, 20)).toEqual([]);
  });

  it('is followed by one that leaves nothing of a removed image, wherever the kill was', async () => {
    const { from, instance } = await created(NOBLE);
    const failures = await killBareEverywhere({
      name: 'removal of an image',
      kind: 'image',
      from,
      instance,
      config: null,
      tasks: ['download', 'imgdel'],
    });
    expect(failures.slice(0, 20)).toEqual([]);
  });
});
