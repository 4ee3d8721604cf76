import { describe, expect, it } from 'vitest';
import { exactText, safeJson, visibleLine, visibleText } from './safe-text.ts';

/** Title of the terminal, clear screen, a C1 introducer, reversed reading order, a tag, half of a pair. */
const HOSTILE = '\u001b]0;owned\u0007 \u001b[2J \u009b31m \u202egnp.exe\u2066 \u{e0041} \ud800';

describe('text from a server or a guest', () => {
  it('shows control and bidirectional characters instead of sending them', () => {
    expect(visibleText(HOSTILE)).toBe('\\x1b]0;owned\\x07 \\x1b[2J \\x9b31m \\u202egnp.exe\\u2066 \\u{e0041} \\ud800');
  });

  it('keeps its lines, its tabs and its letters', () => {
    expect(visibleText('größer\tals 日本\r\nline 👩‍🚀 שלום')).toBe('größer\tals 日本\nline 👩‍🚀 שלום');
    expect(visibleText('over\rwritten')).toBe('over\\x0dwritten');
  });

  it('fits on one line where it must', () => {
    expect(visibleLine('one\ntwo')).toBe('one\\ntwo');
  });

  it('is the same value in JSON, spelled without any of these characters', () => {
    const value = { [HOSTILE]: [HOSTILE, 'line\nbreak', 12n] };
    const text = safeJson(value, 2);
    expect(visibleText(text)).toBe(text);
    expect(JSON.parse(text)).toEqual({ [HOSTILE]: [HOSTILE, 'line\nbreak', '12'] });
  });
});

describe('text whose differences may be invisible', () => {
  it.each([
    ['plain', 'plain'],
    ['two words', 'two words'],
    ['Grüße, 東京 🙂', 'Grüße, 東京 🙂'],
    ['', '""'],
    ['bob ', '"bob "'],
    ['a  b', '"a  b"'],
    ['a\r\nb', '"a\\r\\nb"'],
    ['a\u00a0b', '"a\\u00a0b"'],
    ['a\u200bb', '"a\\u200bb"'],
    ['a\u{e0041}', '"a\\udb40\\udc41"'],
    ['say "no"\t', '"say \\"no\\"\\t"'],
  ])('shows %j as %s', (text, shown) => {
    expect(exactText(text)).toBe(shown);
  });
});
