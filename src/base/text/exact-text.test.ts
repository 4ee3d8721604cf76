import { expect, it } from 'vitest';
import { exactText } from './exact-text.ts';

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
])('%j is shown as %s', (text, shown) => {
  expect(exactText(text)).toBe(shown);
});
