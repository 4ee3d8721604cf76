/**
 * Every kind of fault, at every request of a step: the step ends well or with an error of ours, and once the trouble is over
 * the next run ends well. A storm of all of them, from seeds, is survived too.
 */
import { describe, expect, it } from 'vitest';
import { ProxwrightError } from '../../../src/base/errors.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { FileActionName, FileInputs } from '../../../src/kinds/image/steps.ts';
import { FAULT_KINDS, type FaultKind, seededFaults } from '../../../src/simulator/index.ts';
import { BYTES, FileBench, KEY, PLACE, SHA256, URL_OF_IMAGE } from './bench.ts';

const STEPS: readonly [FileActionName, FileInputs[FileActionName], number][] = [
  ['image.fetch', { ...PLACE, url: URL_OF_IMAGE, sha256: SHA256 }, 3e8],
  ['image.fetch', { ...PLACE, url: URL_OF_IMAGE }, 3e8],
  ['image.send', { ...PLACE, origin: { kind: 'file', path: 'noble.qcow2' } }, BYTES.byteLength],
];

/** More requests than a step makes without trouble. */
const REQUESTS = 12;

/** One run: it first settles what an earlier one left. Failures are expected; defects are not. */
async function run(bench: FileBench, [action, input]: (typeof STEPS)[number]): Promise<'done' | 'failed'> {
  try {
    await bench.takeUp();
    // The pairs of the table belong together, which its type does not tell.
    await bench.step(action, input as FileInputs[typeof action]);
    return 'done';
  } catch (error) {
    if (!(error instanceof ProxwrightError) || error.code === 'INVARIANT' || error.code === 'STALLED') throw error;
    bench.open = undefined;
    return 'failed';
  }
}

async function expectRecovery(bench: FileBench, step: (typeof STEPS)[number], label: string): Promise<void> {
  bench.faults.stop();
  await bench.clock.advance(600_000);
  expect(await bench.clock.run(() => run(bench, step)), label).toBe('done');
  expect(bench.volume()?.sizeBytes, label).toBe(step[2]);
  expect(bench.files.get(KEY), label).toMatchObject({ sizeBytes: step[2] });
  expect(bench.files.get(KEY)?.incomplete, label).toBeUndefined();
  expect(bench.tasks('imgdel'), label).toEqual([]);
}

describe.each(STEPS)('%s %j', (action, input, sizeBytes) => {
  const step: (typeof STEPS)[number] = [action, input, sizeBytes];

  it.each(FAULT_KINDS)('survives %s at every request', async (kind: FaultKind) => {
    for (let at = 1; at <= REQUESTS; at++) {
      const bench = new FileBench([{ kind, at }]);
      await bench.clock.run(() => run(bench, step));
      await expectRecovery(bench, step, `${kind} at ${at}`);
    }
  });

  it.each(Array.from({ length: 15 }, (_, index) => index + 1))('survives the storm of seed %i', async (seed) => {
    const random = seededRandom(seed);
    const bench = new FileBench(seededFaults(random.fork('faults')), String(seed));
    for (let attempt = 1; attempt <= 3; attempt++) {
      if (random.next() < 0.4) bench.killAt = 1 + Math.floor(random.next() * 30);
      let outcome: 'done' | 'failed' | undefined;
      await bench.mortally(async () => {
        outcome = await run(bench, step);
      });
      if (outcome === 'done') break;
    }
    await expectRecovery(bench, step, `seed ${seed}`);
  });
});
