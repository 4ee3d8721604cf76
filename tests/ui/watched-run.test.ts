/** A page that watches a run changes nothing about it: the same run on virtual time records the same, event by event. */
import { expect, it } from 'vitest';
import { testDeps } from '../../src/cli/testing/deps.ts';
import { pageSource } from '../../src/cli/ui/source.ts';
import { type SampleRun, SMALL, sampleRun, TROUBLED } from '../../tools/pictures/sample-runs.ts';

type Recorded = Parameters<NonNullable<SampleRun['onEvent']>>[0];

/** Asks for everything that the live view asks for. */
function watch({ store, stack, clock }: Recorded): Promise<unknown>[] {
  const { deps } = testDeps({ clock });
  const opened = { stack, store, file: 'stack.yaml', directory: '.', stateDirectory: '.', warnings: [] };
  const source = pageSource({
    entries: [{ id: 'lab', name: 'lab', file: 'stack.yaml' }],
    open: async () => ({ stack: opened, deps }),
    connect: async () => {
      throw new Error('The live view asks the cluster nothing.');
    },
    diagnose: async () => [],
    deps,
  });
  return [source.pulse('lab'), source.run('lab', 'last'), source.view('lab', 'runs')];
}

it.each([
  ['that ends well', SMALL],
  ['that fails', TROUBLED],
])('does not change a run %s', async (_, run) => {
  const alone = await sampleRun(run);
  const looks: Promise<unknown>[] = [];
  const watched = await sampleRun({ ...run, onEvent: (recorded) => looks.push(...watch(recorded)) });
  expect(looks.length).toBeGreaterThan(50);
  const [pulse, shown] = (await Promise.all(looks)).slice(-3);
  expect(pulse).toMatchObject({ ok: true, value: expect.stringContaining(watched.runId) });
  expect(shown).toMatchObject({ chart: { runId: watched.runId } });
  expect(watched).toEqual(alone);
});
