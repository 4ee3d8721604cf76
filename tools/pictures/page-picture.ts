/** The page of `ui` as Chromium shows it: the live view of a run. */
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { momentsOf } from '../../src/engine/record/run-moments.ts';
import { PAGE } from '../../src/ui/page.generated.ts';
import { chartOf } from '../../src/ui/picture/chart.ts';
import { servePage } from '../../src/ui/server/server.ts';
import type { PageSource } from '../../src/ui/server/source.ts';
import { launch } from './chromium.ts';
import { SMALL, sampleRun } from './sample-runs.ts';

const SIZE = { width: 1120, height: 760 };

export async function pagePicture(): Promise<Buffer> {
  const record = await sampleRun(SMALL);
  const log = momentsOf(record).map((moment) => ({ ...moment, what: moment.what.replaceAll('**', '') }));
  const source: PageSource = {
    stacks: async () => [{ id: 'lab', name: 'lab', file: 'stack.yaml' }],
    run: async () => ({ chart: chartOf(record), log }),
    pulse: async () => ({ ok: true, value: record.runId }),
    view: async () => undefined,
    report: async () => undefined,
  };
  const server = await servePage({ source, files: PAGE, clock: systemClock, random: systemRandom, log: silentLogger });
  const browser = await launch();
  try {
    const context = await browser.newContext({ viewport: SIZE, deviceScaleFactor: 1, colorScheme: 'light' });
    const page = await context.newPage();
    await page.goto(`${server.link}#/lab/live`);
    await page.locator('svg [data-address]').first().waitFor();
    return await page.screenshot();
  } finally {
    await browser.close();
    await server.close();
  }
}
