/** The course of a run for an incident report: what the journal says, with times relative to its beginning. Pure. */
import { counted } from '../../base/count.ts';
import { printDuration } from '../../base/units.ts';
import type { RunEvent } from '../../state/events.ts';
import { firstLine } from './words.ts';

export interface Moment {
  readonly at: string;
  readonly address: string;
  readonly what: string;
}

/** The end says most; of a long run the middle is left out. */
const MOST_MOMENTS = 200;
const FIRST_MOMENTS = 50;

export function timeline(events: readonly RunEvent[], noticedAt: string): Moment[] {
  const start = Date.parse(events[0]?.at ?? noticedAt);
  const steps = new Map<string, { readonly address: string; readonly name: string; readonly at: number }>();
  const moments = events.flatMap((event): Moment[] => {
    const now = Date.parse(event.at);
    const moment = (address: string, what: string): Moment => ({ at: `+${printDuration(now - start)}`, address, what });
    switch (event.event) {
      case 'runStarted':
        return [moment('', `${event.command} begins, ${counted(event.steps.length, 'step')} planned`)];
      case 'stepStarted': {
        // A step says again what it is about to do; it began the first time.
        if (steps.has(event.step)) return [];
        steps.set(event.step, { address: event.address, name: nameOf(event), at: now });
        return [moment(event.address, `${nameOf(event)} begins`)];
      }
      case 'taskAttached':
        return [moment(steps.get(event.step)?.address ?? '', `waits for task ${event.upid}`)];
      case 'stepDone': {
        const step = steps.get(event.step);
        return step ? [moment(step.address, `${step.name} done after ${printDuration(now - step.at)}`)] : [];
      }
      case 'stepFailed': {
        const step = steps.get(event.step);
        const name = step?.name ?? event.step;
        const after = step ? ` after ${printDuration(now - step.at)}` : '';
        return [moment(step?.address ?? '', `**${name} failed${after}:** ${event.code}: ${firstLine(event.detail)}`)];
      }
      case 'note':
        return [moment(event.address ?? '', event.text)];
      case 'learned':
        // Power is remembered by such an event too; only who was waited for has addresses.
        return event.step.endsWith('/ready') && event.patch.vm?.addresses
          ? [moment(event.patch.address, 'is ready')]
          : [];
      case 'runEnded':
        return [moment('', `the run ends: ${event.outcome}`)];
      default:
        return [];
    }
  });
  return shortened(moments);
}

function nameOf({ step, action, address }: Extract<RunEvent, { event: 'stepStarted' }>): string {
  const rest = step.startsWith(`${address}/`) ? step.slice(address.length + 1).replaceAll('/', ' ') : '';
  return rest || action.replace(/^[a-z]+\./, '');
}

function shortened(moments: readonly Moment[]): Moment[] {
  const left = moments.length - MOST_MOMENTS;
  if (left <= 0) return [...moments];
  const gap = { at: '…', address: '', what: `${left} lines left out` };
  return [...moments.slice(0, FIRST_MOMENTS), gap, ...moments.slice(FIRST_MOMENTS + left)];
}
