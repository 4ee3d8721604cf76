/** The course of a run for an incident report: the moments of its record, with times relative to its start. Pure. */
import { printDuration } from '../../base/units.ts';
import { type Moment, momentsOf, type RunRecord } from '../run-record.ts';

/** The end says most; of a long run the middle is left out. */
const MOST_MOMENTS = 200;
const FIRST_MOMENTS = 50;

export function timeline(run: RunRecord, noticedAt: string): Moment[] {
  const start = Date.parse(run.startedAt ?? noticedAt);
  const moments = momentsOf(run).map((moment) => ({
    ...moment,
    at: `+${printDuration(Date.parse(moment.at) - start)}`,
  }));
  const left = moments.length - MOST_MOMENTS;
  if (left <= 0) return moments;
  const gap = { at: '…', address: '', what: `${left} lines left out` };
  return [...moments.slice(0, FIRST_MOMENTS), gap, ...moments.slice(FIRST_MOMENTS + left)];
}
