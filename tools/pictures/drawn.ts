/** The pictures of the documentation by their file name. */
import { chartOf } from '../../src/ui/picture/chart.ts';
import { drawTimeline } from '../../src/ui/picture/timeline.ts';
import { demoCaptures } from './demo-captures.ts';
import { SMALL, sampleRun, TROUBLED } from './sample-runs.ts';

export async function drawnPictures(): Promise<ReadonlyMap<string, string>> {
  const expected = chartOf(await sampleRun(SMALL));
  const troubled = chartOf(await sampleRun(TROUBLED));
  return new Map([
    ...(await demoCaptures()),
    ['timeline.svg', drawTimeline(expected, { title: 'apply of lab' })],
    [
      'timeline-failed.svg',
      drawTimeline(troubled, { title: 'apply of lab, beside what was expected', prediction: expected }),
    ],
  ]);
}
