/** Where a run is shown: a block drawn at the bottom of a terminal, with messages above it; or just messages. */
import type { Address } from '../base/address.ts';
import type { CommandHost } from './command-host.ts';
import { createTerminal } from './terminal.ts';
import { createLiveArea, type LiveArea } from './views/live.ts';
import { paintFor } from './views/paint.ts';
import { jsonView, lineView, liveView, type RunView } from './views/run-view.ts';
import { type KnownDurations, Timeline } from './views/timeline.ts';

export interface Screen {
  /** The host for everything that happens while the block may stand. */
  readonly host: CommandHost;
  begin(addresses: Iterable<Address>, known: KnownDurations): { readonly timeline: Timeline; readonly view: RunView };
}

export function createScreen(host: CommandHost): Screen {
  const area =
    !host.json && host.stderr.isTTY === true && host.level !== 'error' ? createLiveArea(host.stderr) : undefined;
  const drawn = area ? { ...host, terminal: terminalAbove(host, area) } : host;
  return {
    host: drawn,
    begin: (addresses, known) => {
      const timeline = new Timeline(addresses, known);
      return { timeline, view: viewOf(drawn, timeline, area) };
    },
  };
}

function terminalAbove(host: CommandHost, area: LiveArea): CommandHost['terminal'] {
  return createTerminal({ stdout: host.stdout, stderr: area.output, clock: host.clock, level: host.level });
}

function viewOf(host: CommandHost, timeline: Timeline, area: LiveArea | undefined): RunView {
  const { terminal, clock } = host;
  if (host.json) return jsonView(timeline, (object) => terminal.result(JSON.stringify(object)));
  return area ? liveView({ timeline, area, clock, paint: paintFor(host.stderr) }) : lineView(timeline, terminal);
}
