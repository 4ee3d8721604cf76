/** Shows a run while it works: drawn on a terminal, plain lines with times elsewhere, JSON lines with --json. */

import type { Clock } from '../../base/clock.ts';
import { isCanceled } from '../../base/errors.ts';
import { printDuration } from '../../base/units.ts';
import type { Progress, ProgressListener } from '../../engine/progress.ts';
import type { Terminal } from '../terminal.ts';
import type { LiveArea } from './live.ts';
import type { Paint } from './paint.ts';
import { renderProgress } from './progress-view.ts';
import { stageOf, type Timeline } from './timeline.ts';

export interface RunView {
  readonly onProgress: ProgressListener;
  /** Shows how things stand at last, and stops. */
  end(): Promise<void>;
}

const FRAME_MS = 100;

export interface LiveViewOptions {
  readonly timeline: Timeline;
  readonly area: LiveArea;
  readonly paint: Paint;
  /** The time of the run. */
  readonly clock: Clock;
  /** The time of whoever looks on; another one where the run's goes faster. */
  readonly frames?: Clock;
}

export function liveView({ timeline, area, paint, clock, frames = clock }: LiveViewOptions): RunView {
  const startedAt = clock.now();
  const stop = new AbortController();
  const draw = () => area.draw(renderProgress({ timeline, startedAt, now: clock.now(), paint, height: area.height }));
  const drawing = (async () => {
    while (!stop.signal.aborted) {
      draw();
      await frames.sleep(FRAME_MS, stop.signal);
    }
  })().catch((error: unknown) => {
    if (!isCanceled(error)) throw error;
  });
  return {
    onProgress: (progress) => timeline.follow(progress),
    end: async () => {
      stop.abort();
      await drawing;
      draw();
      area.end();
    },
  };
}

export function lineView(timeline: Timeline, terminal: Terminal): RunView {
  return {
    onProgress: (progress) => {
      const line = progressLine(progress, timeline);
      timeline.follow(progress);
      if (line !== undefined) terminal.log('info', `${new Date(progress.at).toISOString()} ${line}`);
    },
    end: async () => {},
  };
}

/** Undefined for what only a moving picture can show. */
function progressLine(progress: Progress, before: Timeline): string | undefined {
  switch (progress.kind) {
    case 'vm':
    case 'activity':
      return undefined;
    case 'step': {
      const [, ...parts] = progress.step.split('/');
      const act = `${progress.address}: ${parts.join(' ') || stageOf(progress.action)}`;
      if (progress.status === 'started') return `${act} begins`;
      const since = before.vms.find(({ address }) => address === progress.address)?.stageSince;
      return since === undefined ? `${act} done` : `${act} done after ${printDuration(progress.at - since)}`;
    }
    case 'vmEnded':
      return `${progress.address}: ${ENDINGS[progress.outcome]}`;
  }
}

const ENDINGS = {
  done: 'done',
  failed: 'failed',
  notReady: 'not ready in time; it is kept',
  canceled: 'stopped',
  skipped: 'not begun',
} as const;

export function jsonView(timeline: Timeline, print: (object: Readonly<Record<string, unknown>>) => void): RunView {
  return {
    onProgress: (progress) => {
      timeline.follow(progress);
      const { at, ...rest } = progress;
      print({ type: 'progress', time: new Date(at).toISOString(), ...rest });
    },
    end: async () => {},
  };
}
