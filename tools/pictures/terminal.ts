/** A terminal for pictures: it understands what the command writes to one, and draws what then stands on it as SVG. */

interface Cell {
  readonly text: string;
  /** Codes of SGR that apply to it: 1 bold, 2 dim, 31 red … */
  readonly styles: readonly number[];
}

export type Line = readonly Cell[];

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences to find
const SEQUENCE = /\u001b\[(\d*(?:;\d+)*)([A-Za-z])/y;
const ENDS: ReadonlyMap<number, readonly number[]> = new Map([
  [22, [1, 2]],
  [39, [31, 32, 33, 35, 36]],
]);

/** Has no width: the command fits its lines itself. */
export class PictureTerminal {
  readonly #lines: Cell[][] = [[]];
  #row = 0;
  #column = 0;
  #styles: readonly number[] = [];

  get lines(): readonly Line[] {
    return this.#lines;
  }

  write(text: string): void {
    for (let at = 0; at < text.length; ) {
      SEQUENCE.lastIndex = at;
      const [sequence, argument = '', command = ''] = SEQUENCE.exec(text) ?? [];
      if (sequence !== undefined) {
        this.#obey(command, argument);
        at += sequence.length;
        continue;
      }
      const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
      this.#put(character);
      at += character.length;
    }
  }

  #put(character: string): void {
    if (character === '\r') this.#column = 0;
    else if (character === '\n') {
      this.#row++;
      this.#column = 0;
      if (this.#row === this.#lines.length) this.#lines.push([]);
    } else {
      const line = this.#lines[this.#row] ?? [];
      while (line.length < this.#column) line.push({ text: ' ', styles: [] });
      line[this.#column++] = { text: character, styles: this.#styles };
    }
  }

  #obey(command: string, argument: string): void {
    if (command === 'A') this.#row = Math.max(0, this.#row - Number(argument || 1));
    else if (command === 'J') {
      this.#lines.length = this.#row + 1;
      this.#lines[this.#row]?.splice(this.#column);
    } else if (command === 'm') this.#style(Number(argument || 0));
    else throw new Error(`The terminal of the pictures does not know the sequence ESC [ ${argument} ${command}.`);
  }

  #style(code: number): void {
    if (code === 0) this.#styles = [];
    else if (ENDS.has(code)) this.#styles = this.#styles.filter((style) => !ENDS.get(code)?.includes(style));
    else this.#styles = [...this.#styles, code];
  }
}

const CHARACTER_PX = 7.8;
const LINE_PX = 18;
const MARGIN_PX = 18;
const TITLE_PX = 34;
const TOP_PX = 24;
const COLOURS: Readonly<Record<number, string>> = {
  31: '#ff8a7e',
  32: '#6fd3a8',
  33: '#e2b257',
  35: '#d4a5f0',
  36: '#7cc4ef',
};

/** One colour scheme for all readers: a terminal is dark. */
export function drawTerminal(lines: readonly Line[], command: string, columns: number): string {
  const width = Math.round(columns * CHARACTER_PX + 2 * MARGIN_PX);
  const height = TITLE_PX + TOP_PX + (lines.length - 1) * LINE_PX + MARGIN_PX;
  const words = lines.map((line) =>
    line
      .map(({ text }) => text)
      .join('')
      .trimEnd(),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(`What ${command} prints`)}">`,
    `<title>${escaped(`$ ${command}\n${words.join('\n')}`)}</title>`,
    `<style>text{font:13px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#d7dde6;white-space:pre}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#12161c"/>`,
    `<text x="${MARGIN_PX}" y="23" fill="#9aa6b6" style="fill:#9aa6b6">$ ${escaped(command)}</text>`,
    `<path d="M0 ${TITLE_PX}.5H${width}" stroke="#262d37"/>`,
    ...lines.flatMap((line, row) => drawLine(line, TITLE_PX + TOP_PX + row * LINE_PX)),
    '</svg>',
    '',
  ].join('\n');
}

/** Each run of cells with one style is a text whose length is given, so that columns meet in every font. */
function drawLine(line: Line, y: number): string[] {
  const texts: string[] = [];
  for (let from = 0; from < line.length; ) {
    const styles = line[from]?.styles ?? [];
    let to = from;
    while (to < line.length && line[to]?.styles.join() === styles.join()) to++;
    const text = line
      .slice(from, to)
      .map((cell) => cell.text)
      .join('');
    if (text.trim() !== '') {
      const x = (MARGIN_PX + from * CHARACTER_PX).toFixed(1);
      const length = ((to - from) * CHARACTER_PX).toFixed(1);
      const look = styleOf(styles);
      texts.push(
        `<text x="${x}" y="${y}" textLength="${length}"${look === '' ? '' : ` style="${look}"`}>${escaped(text)}</text>`,
      );
    }
    from = to;
  }
  return texts;
}

function styleOf(styles: readonly number[]): string {
  const colour = styles.map((code) => COLOURS[code]).findLast((each) => each !== undefined);
  return [
    styles.includes(1) && 'font-weight:600',
    colour === undefined ? styles.includes(2) && 'fill:#8b97a8' : `fill:${colour}`,
  ]
    .filter(Boolean)
    .join(';');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
