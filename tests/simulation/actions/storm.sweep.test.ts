/**
 * Every kind of fault, drawn from seeds, while a VM is created: each run may fail with an error of ours, never
 * otherwise. Once the faults stop the next run succeeds, with one VM as desired and nothing left behind.
 */
import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../../src/base/errors.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { seededFaults } from '../../../src/simulator/index.ts';
import { byDepth } from '../../support/depth.ts';
import { Bench, makeVm, TEMPLATE, WEB } from './bench.ts';

const SEEDS = byDepth(12, 60);
const VMIDS = [101, 102, 103, 104, 105, 106];

const make = (bench: Bench) => makeVm(bench, { source: TEMPLATE, name: 'web', mode: 'full', vmids: VMIDS });

/** One run: it first settles what an earlier one left. Failures are expected; defects are not. */
async function run(bench: Bench): Promise<'done' | 'failed'> {
  try {
    await bench.takeUp();
    await make(bench);
    return 'done';
  } catch (error) {
    if (!(error instanceof ProxwrightError) || error.code === 'INVARIANT' || error.code === 'STALLED') throw error;
    // An engine writes down that the step failed, and so it is not open any more.
    const record = bench.records.get(WEB);
    if (record) record.open = undefined;
    return 'failed';
  }
}

/** A backup that could not take its lock away again, because another client held the file, needs an administrator. */
function unlock(bench: Bench): void {
  for (const vm of bench.world.vms.values()) {
    const current = new Map([...vm.config.current].filter(([key, text]) => key !== 'lock' || text !== 'backup'));
    vm.config = { ...vm.config, current };
  }
}

function volumesOf(bench: Bench, vmid: number): string[] {
  return [...bench.world.storages.values()].flatMap((storage) =>
    [...storage.volumes.values()].flatMap((volumes) =>
      [...volumes.values()].filter((volume) => volume.vmid === vmid).map((volume) => volume.name),
    ),
  );
}

describe('a storm', () => {
  it.each(Array.from({ length: SEEDS }, (_, index) => index + 1))('is survived with seed %i', async (seed) => {
    const random = seededRandom(seed);
    const bench = new Bench(seededFaults(random.fork('faults')), String(seed));
    for (let attempt = 1; attempt <= 3; attempt++) {
      // Some runs are killed as well.
      if (random.next() < 0.4) bench.killAt = 1 + Math.floor(random.next() * 80);
      let outcome: 'done' | 'failed' | undefined;
      await bench.mortally(async () => {
        outcome = await run(bench);
      });
      if (outcome === 'done') break;
    }
    bench.faults.stop();
    await bench.clock.advance(600_000);
    unlock(bench);
    bench.revive();
    expect(await bench.clock.run(() => run(bench))).toBe('done');

    const vmid = bench.records.get(WEB)?.recorded?.vmid ?? 0;
    expect(bench.config('memory', vmid)).toBe('8192');
    expect(bench.config('net0', vmid)).toContain('tag=20');
    expect(bench.vm(vmid).process).toBeDefined();
    expect(bench.vm(vmid).config.pending.size).toBe(0);
    expect(volumesOf(bench, vmid)).toHaveLength(3);
    const others = [...bench.world.vms.values()].filter((vm) => vm.vmid < 9000 && vm.vmid !== vmid);
    for (const other of others) expect(other.config.current.get('name')).toMatch(/^another-clients-/);
    for (const other of others) expect(volumesOf(bench, other.vmid)).toEqual([]);
  });
});
