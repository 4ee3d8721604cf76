/** What `proxwright demo` prints on a terminal, as pictures: the command itself, on virtual time and with a seed. */
import type { Clock } from '../../src/base/clock.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { runDemo } from '../../src/cli/commands/demo/demo.ts';
import { createTerminal } from '../../src/cli/terminal.ts';
import { testDeps } from '../../src/cli/testing/deps.ts';
import { seededRandom } from '../../src/simulator/index.ts';
import { drawTerminal, type Line, PictureTerminal } from './terminal.ts';

const COLUMNS = 100;
const ROWS = 40;

export async function demoCaptures(): Promise<ReadonlyMap<string, string>> {
  const lines = await demoLines();
  const part = (from: number, to: number) => trimmed(lines.slice(headingAt(lines, from), headingAt(lines, to)));
  return new Map([
    ['terminal-plan.svg', drawTerminal(part(2, 3), 'proxwright demo', COLUMNS)],
    ['terminal-resume.svg', drawTerminal(part(3, 5), 'proxwright demo', COLUMNS)],
  ]);
}

async function demoLines(): Promise<readonly Line[]> {
  const screen = new PictureTerminal();
  const output = {
    isTTY: true,
    columns: COLUMNS,
    rows: ROWS,
    hasColors: () => true,
    write: (text: string) => screen.write(text),
  };
  const virtual = new VirtualClock();
  // The demo reads its example from disk before it looks at the clock. Virtual time stands still for that.
  let isRead = () => {};
  const read = new Promise<void>((resolve) => {
    isRead = resolve;
  });
  const clock: Clock = {
    now: () => {
      isRead();
      return virtual.now();
    },
    ticks: () => {
      isRead();
      return virtual.ticks();
    },
    sleep: (ms, signal) => virtual.sleep(ms, signal),
  };
  const { deps: memory } = testDeps({ clock, random: seededRandom('pictures'), stdout: output, stderr: output });
  const { secrets } = memory;
  const terminal = createTerminal({ stdout: output, stderr: output, clock, secrets, level: 'info', json: false });
  const code = await virtual.run(async () => {
    const demo = runDemo({ speed: '10' }, { ...memory, terminal });
    await virtual.outside(() => Promise.race([read, demo]));
    return demo;
  });
  if (code !== 0) throw new Error(`The demo ended with ${code}.`);
  return screen.lines;
}

/** `── 3  proxwright apply ──`: the parts of the demo are numbered. */
function headingAt(lines: readonly Line[], part: number): number {
  const start = `── ${part} `;
  const at = lines.findIndex((line) => textOf(line).startsWith(start));
  if (at < 0) throw new Error(`The demo has no part ${part}.`);
  return at;
}

const textOf = (line: Line) => line.map(({ text }) => text).join('');

function trimmed(lines: readonly Line[]): readonly Line[] {
  const last = lines.findLastIndex((line) => textOf(line).trim() !== '');
  return lines.slice(0, last + 1);
}
