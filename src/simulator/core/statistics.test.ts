import { describe, expect, it } from 'vitest';
import { ResourceView } from '../api/cluster/resources.ts';
import { TestBench } from '../testing/bench.ts';
import { draftOf, saveConfig } from '../vm/config/config-file.ts';
import type { Vm } from '../world/world.ts';
import { observeStatistics } from './statistics.ts';

function seen(bench: TestBench, vm: Vm) {
  return new ResourceView(bench.runtime).vm(vm);
}

/** Reads every 100 ms until the entry has the expected value, and returns how long that took. */
async function msUntil(
  bench: TestBench,
  vm: Vm,
  isThere: (entry: Record<string, unknown>) => boolean,
): Promise<number> {
  const startedAt = bench.clock.now();
  while (!isThere(seen(bench, vm))) {
    await bench.clock.advance(100);
    if (bench.clock.now() - startedAt > 60_000) throw new Error('never seen');
  }
  return bench.clock.now() - startedAt;
}

function rename(vm: Vm, name: string): void {
  const draft = draftOf(vm.config);
  draft.current.set('name', name);
  saveConfig(vm, draft);
}

const SEEDS = Array.from({ length: 20 }, (_, index) => `seed ${index}`);

describe('the statistics behind /cluster/resources', () => {
  it.each(SEEDS)('contain only the id of a new VM until the next broadcast (%s)', async (seed) => {
    const bench = new TestBench(seed);
    observeStatistics(bench.runtime);
    const vm = bench.addVm(500, { name: 'fresh' });
    await bench.clock.advance(300);
    expect(seen(bench, vm)).toEqual({ id: 'qemu/500', vmid: 500, node: 'pve1', type: 'qemu', status: 'unknown' });
    expect(await msUntil(bench, vm, (entry) => entry.name === 'fresh')).toBeLessThan(13_000);
    expect(seen(bench, vm)).toMatchObject({ status: 'stopped', template: 0, uptime: 0 });
  });

  it('lag behind a rename by up to a dozen seconds', async () => {
    const delays: number[] = [];
    for (const seed of SEEDS) {
      const bench = new TestBench(seed);
      observeStatistics(bench.runtime);
      const vm = bench.addVm(500, { name: 'before' });
      await msUntil(bench, vm, (entry) => entry.name === 'before');
      await bench.clock.advance(3_000);
      observeStatistics(bench.runtime);
      rename(vm, 'after');
      expect(seen(bench, vm).name).toBe('before');
      delays.push(await msUntil(bench, vm, (entry) => entry.name === 'after'));
    }
    expect(Math.max(...delays)).toBeLessThan(13_000);
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(300);
  });

  it('may show the old state again to a client that polls fast', async () => {
    let flips = 0;
    for (const seed of SEEDS) {
      const bench = new TestBench(seed);
      observeStatistics(bench.runtime);
      const vm = bench.addVm(500, { name: 'before' });
      await msUntil(bench, vm, (entry) => entry.name === 'before');
      await bench.clock.advance(3_000);
      observeStatistics(bench.runtime);
      rename(vm, 'after');
      await msUntil(bench, vm, (entry) => entry.name === 'after');
      for (let read = 0; read < 10; read++) {
        if (seen(bench, vm).name === 'before') flips++;
        await bench.clock.advance(100);
      }
    }
    expect(flips).toBeGreaterThan(0);
  });

  it('give a re-used id the data of the VM that had it before', async () => {
    const bench = new TestBench();
    observeStatistics(bench.runtime);
    const old = bench.addVm(500, { name: 'old', template: '1' });
    await msUntil(bench, old, (entry) => entry.name === 'old');
    await bench.clock.advance(3_000);
    observeStatistics(bench.runtime);
    bench.runtime.world.vms.delete(500);
    const fresh = bench.addVm(500, { name: 'new' });
    expect(seen(bench, fresh)).toMatchObject({ name: 'old', template: 1 });
    await msUntil(bench, fresh, (entry) => entry.name === 'new');
  });

  /** Renames a VM to the current time at every step and reads it: the time and value of each reading. */
  async function readings(
    seed: string,
    everyMs: number,
  ): Promise<{ readonly atMs: number; readonly shownMs: number }[]> {
    const bench = new TestBench(seed);
    observeStatistics(bench.runtime);
    const vm = bench.addVm(500, { name: '0' });
    await msUntil(bench, vm, (entry) => entry.name === '0');
    const startedAt = bench.clock.now();
    const found: { atMs: number; shownMs: number }[] = [];
    for (let atMs = 0; atMs < 45_000; atMs += everyMs) {
      rename(vm, String(bench.clock.now() - startedAt));
      // A stale read of the first round does not know the name yet.
      found.push({ atMs, shownMs: Number(seen(bench, vm).name ?? 0) });
      await bench.clock.advance(everyMs);
    }
    return found;
  }

  it('are broadcast every 10 s and appear 0.6 to 2 s later', async () => {
    const delays: number[] = [];
    for (const seed of SEEDS) {
      const found = await readings(seed, 50);
      const takenAt = [...new Set(found.map(({ shownMs }) => shownMs))].sort((a, b) => a - b).slice(1);
      for (const [index, taken] of takenAt.entries()) {
        const next = takenAt[index + 1];
        if (next !== undefined) expect(next - taken).toBe(10_000);
        delays.push((found.find(({ shownMs }) => shownMs === taken)?.atMs ?? 0) - taken);
      }
    }
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(550);
    expect(Math.min(...delays)).toBeLessThan(750);
    expect(Math.max(...delays)).toBeLessThanOrEqual(2_050);
    expect(Math.max(...delays)).toBeGreaterThan(1_850);
  });

  it.each([
    // 50 ms apart, each of the four reads can be the stale one; 600 ms apart, only the third is within 1.5 s.
    [50, [3, 4, 5, 6]],
    [600, [3]],
  ])('are stale for one of the reads of a round: polled every %i ms, for read %j', async (everyMs, expected) => {
    const positions = new Set<number>();
    for (const seed of SEEDS) {
      let [newest, reads] = [0, 0];
      for (const { shownMs } of await readings(seed, everyMs)) {
        reads++;
        if (shownMs > newest) [newest, reads] = [shownMs, 1];
        else if (shownMs < newest) positions.add(reads);
      }
    }
    expect([...positions].sort()).toEqual(expected);
  });

  it.each([
    [280_000, 'old'],
    [330_000, undefined],
  ])('still know a VM that was removed %i ms ago as %s', async (removedMs, name) => {
    const bench = new TestBench();
    const old = bench.addVm(500, { name: 'old' });
    await msUntil(bench, old, (entry) => entry.name === 'old');
    bench.runtime.world.vms.delete(500);
    for (let passedMs = 0; passedMs < removedMs; passedMs += 10_000) {
      await bench.clock.advance(10_000);
      observeStatistics(bench.runtime);
    }
    expect(seen(bench, bench.addVm(500, { name: 'new' })).name).toBe(name);
  });
});
