/**
 * A block of lines at the bottom of a terminal that is drawn again and again. Whatever else is written goes above it, so
 * that messages and the block never mix.
 */
import type { KnownSecrets } from '../../../base/secret.ts';
import type { Output } from '../../terminal.ts';
import { coloured, cutVisible } from '../text/paint.ts';

export interface TerminalOutput extends Output {
  readonly rows?: number;
}

export interface LiveArea {
  /** Everything that is written while the block is shown must go through this. */
  readonly output: Output;
  /** How many lines there is room for. */
  readonly height: number;
  draw(lines: readonly string[]): void;
  /** Keeps what was drawn last and starts below it. */
  end(): void;
}

// For a terminal that does not know its size, or reports 0.
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

export function createLiveArea(stream: TerminalOutput, secrets: KnownSecrets): LiveArea {
  let drawn: readonly string[] = [];
  // Up over the lines of the block, then clear everything below.
  const erasure = () => (drawn.length === 0 ? '' : `\u001b[${drawn.length}A\r\u001b[J`);
  const block = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');
  return {
    get height() {
      return Math.max(1, (stream.rows || DEFAULT_ROWS) - 2);
    },
    output: {
      isTTY: true,
      hasColors: () => stream.hasColors?.() !== false,
      write: (text) => stream.write(`${erasure()}${text}${block(drawn)}`),
    },
    draw: (lines) => {
      const fitting = lines.map((line) =>
        coloured(cutVisible(secrets.redact(line), (stream.columns || DEFAULT_COLUMNS) - 1)),
      );
      const text = `${erasure()}${block(fitting)}`;
      drawn = fitting;
      stream.write(text);
    },
    end: () => {
      drawn = [];
    },
  };
}
