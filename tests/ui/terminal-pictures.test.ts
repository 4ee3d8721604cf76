/** The terminal that draws pictures: what the command writes is what stands on it. */
import { expect, it } from 'vitest';
import { drawTerminal, PictureTerminal } from '../../tools/pictures/terminal.ts';

const text = (terminal: PictureTerminal) => terminal.lines.map((line) => line.map((cell) => cell.text).join(''));

it('draws a block again where it stood, and keeps what was written above it', () => {
  const terminal = new PictureTerminal();
  terminal.write('above\none\ntwo\n');
  terminal.write('\u001b[2A\r\u001b[Jmessage\nthree\nfour\n');
  expect(text(terminal)).toEqual(['above', 'message', 'three', 'four', '']);
});

it('draws colours, and text as text', () => {
  const terminal = new PictureTerminal();
  terminal.write('\u001b[1m\u001b[31mbad\u001b[39m <b>\u001b[22m & more');
  const svg = drawTerminal(terminal.lines, 'proxwright "x"', 80);
  expect(svg).toContain('style="font-weight:600;fill:#ff8a7e">bad</text>');
  expect(svg).toContain('style="font-weight:600"> &lt;b&gt;</text>');
  expect(svg).toContain('> &amp; more</text>');
  expect(svg).toContain('aria-label="What proxwright &quot;x&quot; prints"');
});

it('refuses a sequence that it does not know, rather than draw something else', () => {
  expect(() => new PictureTerminal().write('\u001b[5B')).toThrow('does not know');
});
