/**
 * The colours of the timeline, for light and dark: as a style sheet inside the picture, in a report or next to a page.
 */
import type { BarKind } from './chart.ts';

interface Palette {
  readonly paper: string;
  readonly ink: string;
  readonly muted: string;
  readonly grid: string;
  /** On bars. */
  readonly onBar: string;
  readonly accent: string;
  readonly failure: string;
  readonly retry: string;
  readonly bars: Readonly<Record<BarKind, string>>;
}

export const LIGHT: Palette = {
  paper: '#ffffff',
  ink: '#1b2430',
  muted: '#586374',
  grid: '#e4e8ee',
  onBar: '#ffffff',
  accent: '#c2410c',
  failure: '#b42318',
  retry: '#92610a',
  bars: {
    make: '#3b6ea8',
    configure: '#5f6f86',
    run: '#20776b',
    end: '#84508f',
    move: '#4d6f92',
    hook: '#6355b5',
    guest: '#20776b',
    turn: '#7d8898',
    lock: '#92610a',
  },
};

export const DARK: Palette = {
  paper: '#12161c',
  ink: '#e6eaf0',
  muted: '#9aa6b6',
  grid: '#262d37',
  onBar: '#0e1217',
  accent: '#fb923c',
  failure: '#ff8a7e',
  retry: '#e2b257',
  bars: {
    make: '#7fb0e8',
    configure: '#a3b1c6',
    run: '#5fc4b3',
    end: '#cf9bd9',
    move: '#93b5d8',
    hook: '#b0a5f5',
    guest: '#5fc4b3',
    turn: '#8a96a7',
    lock: '#e2b257',
  },
};

const FONT = 'ui-sans-serif, system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';

/** Every rule begins with `.pw-timeline`, so that it touches nothing else of a page. */
export function timelineStyle(): string {
  return `${SHAPES}${coloursOf(LIGHT)}@media (prefers-color-scheme: dark){${coloursOf(DARK)}}`;
}

const SHAPES = [
  `.pw-timeline{font-family:${FONT}}`,
  '.pw-timeline text{font-size:11px}',
  '.pw-timeline .pw-title{font-size:14px;font-weight:600}',
  '.pw-timeline .pw-small text,.pw-timeline text.pw-small{font-size:9px}',
  '.pw-timeline .pw-failed-row{font-weight:600}',
  '.pw-timeline .pw-path{fill:none;stroke-width:2.5;stroke-linecap:round;stroke-linejoin:round}',
  '.pw-timeline .pw-turn-hop{stroke-dasharray:2 4;stroke-width:1.5}',
  '.pw-timeline .pw-hop{stroke-width:1.5}',
  '.pw-timeline .pw-ghost{fill:none;stroke-width:1}',
  '.pw-timeline .pw-open{stroke-dasharray:3 3;stroke-width:1.5}',
  '.pw-timeline .pw-end{stroke-dasharray:4 3}',
].join('');

function coloursOf({ paper, ink, muted, grid, onBar, accent, failure, retry, bars }: Palette): string {
  const kinds = Object.entries(bars).map(
    ([kind, colour]) =>
      `.pw-timeline .pw-${kind}{fill:${colour};stroke:${colour}}.pw-timeline .pw-hatch-${kind}{stroke:${colour}}`,
  );
  return [
    `.pw-timeline .pw-paper{fill:${paper}}`,
    `.pw-timeline text{fill:${ink}}`,
    `.pw-timeline text.pw-muted{fill:${muted}}`,
    `.pw-timeline text.pw-on-bar{fill:${onBar}}`,
    `.pw-timeline text.pw-failed-row{fill:${failure}}`,
    `.pw-timeline .pw-grid{stroke:${grid}}.pw-timeline .pw-stripe{fill:${grid};opacity:.35}`,
    ...kinds,
    `.pw-timeline .pw-path{stroke:${accent}}`,
    `.pw-timeline .pw-failure{stroke:${failure};fill:${failure}}`,
    `.pw-timeline .pw-retry{stroke:${paper};fill:${retry}}`,
    `.pw-timeline .pw-ghost,.pw-timeline .pw-end{stroke:${muted}}`,
    `.pw-timeline .pw-rate{fill:${bars.make};opacity:.45;stroke:none}`,
  ].join('');
}
