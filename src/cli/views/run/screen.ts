/** Where a run is shown: a block redrawn at the bottom of a terminal with messages above it, plain lines, or JSON lines. */
import type { Address } from '../../../base/address.ts';
import type { Roll } from '../../../kinds/change.ts';
import type { CommandDeps } from '../../command.ts';
import { createTerminal } from '../../terminal.ts';
import { paintFor } from '../text/paint.ts';
import { chooseView } from '../view.ts';
import { createLiveArea, type LiveArea } from './live.ts';
import { jsonView, lineView, liveView, type RunView } from './run-view.ts';
import { type KnownDurations, Timeline } from './timeline.ts';

export interface Screen {
  /** For everything that happens while the block may be on the screen. */
  readonly deps: CommandDeps;
  begin(
    addresses: Iterable<Address>,
    known: KnownDurations,
    rolls?: readonly Roll[],
  ): { readonly timeline: Timeline; readonly view: RunView };
}

export function createScreen(outerDeps: CommandDeps): Screen {
  const screen = (deps: CommandDeps, viewOf: (timeline: Timeline) => RunView): Screen => ({
    deps,
    begin: (addresses, known, rolls) => {
      const timeline = new Timeline(addresses, known, rolls);
      return { timeline, view: viewOf(timeline) };
    },
  });
  return chooseView<Screen>(outerDeps, {
    json: ({ terminal, print }) => screen(outerDeps, (timeline) => jsonView(timeline, terminal, print)),
    human: ({ terminal }) => {
      const { stderr, clock, level } = outerDeps;
      if (stderr.isTTY !== true || level === 'error') return screen(outerDeps, (each) => lineView(each, terminal));
      const area = createLiveArea(stderr, outerDeps.secrets);
      const deps = { ...outerDeps, terminal: terminalAbove(outerDeps, area) };
      return screen(deps, (timeline) =>
        liveView({ timeline, terminal: deps.terminal, area, clock, paint: paintFor(stderr) }),
      );
    },
  });
}

/** Writes messages above the block. */
export function terminalAbove(
  { stdout, clock, level, secrets, terminal }: Pick<CommandDeps, 'stdout' | 'clock' | 'level' | 'secrets' | 'terminal'>,
  area: LiveArea,
): CommandDeps['terminal'] {
  const { language } = terminal;
  return createTerminal({ stdout, stderr: area.output, clock, level, secrets, language });
}
