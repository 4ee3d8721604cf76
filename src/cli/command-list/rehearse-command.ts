/** The row of `rehearse`. */
import type { CommandRow } from '../command.ts';
import { PLANNING_OPTIONS } from '../options.ts';

export const REHEARSE: CommandRow = {
  name: 'rehearse',
  about: 'run the apply on a simulated copy of your cluster: what happens, how long it takes, what would fail',
  usesStack: true,
  options: [
    ...PLANNING_OPTIONS,
    { flags: '--interrupt', about: 'also kill that apply at every request, and check that the next one resumes' },
    { flags: '--at <point>', about: 'with --interrupt: only at this point' },
    { flags: '--faults <count>', about: 'also run it in this many storms: locks, lost answers, failing tasks' },
    { flags: '--seed <seed>', about: 'seed of the first storm, and of everything random', byDefault: '1' },
    { flags: '--picture <file>', about: 'write the predicted timeline as an SVG' },
    { flags: '--save <file>', about: 'write the copy to a file for sim --world, without secrets' },
    { flags: '--anonymize', about: 'with --save: replace names and addresses' },
  ],
  help: `
It only reads from the cluster. Durations come from earlier runs of this stack, else they are defaults; it says which.

Examples:
  proxwright rehearse                        before an apply: the timeline, the end, the room it takes
  proxwright rehearse --interrupt            prove the resume, for your stack
  proxwright rehearse --save cluster.json && proxwright sim --world cluster.json`,
  load: async () => (await import('../commands/check/rehearse.ts')).runRehearse,
};
